package broker

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// maxErrorBody is how much of an error answer is read.
const maxErrorBody = 16 << 10

const notManagementRemedy = "run: rabbitmq-plugins enable rabbitmq_management; then check the port (usually 15672) and path of management_url"

// A complaint is the body of the API's error answers.
type complaint struct {
	Error  word `json:"error"`
	Reason word `json:"reason"`
}

// because returns the complaint as the end of a sentence, empty when there is none.
func (c complaint) because() string {
	if c.Reason == "" {
		return ""
	}
	return ": " + Quote(string(c.Reason))
}

// statusError explains an answer with a status other than 200. 401 is also the API's answer to users who log in but
// may not (rabbit_web_dispatch_access_control); only the reason tells them apart.
func (a *api) statusError(request string, answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxErrorBody))
	var said complaint
	ours := json.Unmarshal(text, &said) == nil
	e := Error{Status: answer.StatusCode, word: string(said.Error), body: text}
	switch code := answer.StatusCode; {
	case code >= 300 && code < 400:
		e.Kind, e.Text = Redirected, "it redirects to "+redirectTarget(answer)
		e.Remedy = "set management_url to the final address; redirects are not followed because they would carry the password along"
	case code == http.StatusUnauthorized:
		a.explainUnauthorized(&e, said)
	case code >= 500 || (ours && code != http.StatusNotFound):
		e.Kind, e.Text = Status, fmt.Sprintf("it answered %d%s", code, said.because())
		e.Remedy = "see the log of the broker, or of the proxy in front of it"
	default:
		e.Kind, e.Text = NotManagement, fmt.Sprintf("it answered %d, so this is not the management API", code)
		e.Remedy = notManagementRemedy
	}
	return a.failure(request, e)
}

func (a *api) explainUnauthorized(e *Error, said complaint) {
	reason := string(said.Reason)
	switch {
	case strings.Contains(reason, "access virtual host"):
		e.Kind, e.Text = NoPermission, "user "+Quote(a.user)+" has no permission in this vhost"
		e.Remedy = "run: " + permissionLine("VHOST", a.user)
	case strings.HasPrefix(reason, "Not ") && strings.HasSuffix(reason, " user"):
		e.Kind, e.Text = TagMissing, "user "+Quote(a.user)+" logs in but lacks a tag"+said.because()
		e.Remedy = "run: " + tagLine(a.user)
	default:
		e.Kind, e.Text = WrongPassword, "login failed for user "+Quote(a.user)+said.because()
		e.Remedy = "check username and password; the user guest may log in from the broker's own machine only"
	}
}

// notJSON returns an error if the answer declares itself a page for people.
func (a *api) notJSON(request string, answer *http.Response) error {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if kind != "text/html" && kind != "text/plain" {
		return nil
	}
	return a.failure(request, Error{
		Kind: NotManagement, Status: answer.StatusCode,
		Text: "it answered a page of type " + kind + ", so this is not the management API", Remedy: notManagementRemedy,
	})
}

// redirectTarget names where an answer redirects to, without credentials.
func redirectTarget(answer *http.Response) string {
	target, err := url.Parse(answer.Header.Get("Location"))
	if err != nil || target.String() == "" {
		return "an address that cannot be read"
	}
	target.User, target.RawQuery, target.Fragment = nil, "", ""
	return Quote(target.String())
}

// permissionLine is the command that lets a user see, and do nothing else, in a vhost.
func permissionLine(vhost, user string) string {
	return "rabbitmqctl set_permissions -p " + shellWord(vhost) + " " + shellWord(user) + " '^$' '^$' '^$'"
}

// tagLine is the command that lets a user read nodes and totals.
func tagLine(user string) string {
	return "rabbitmqctl set_user_tags " + shellWord(user) + " monitoring"
}
