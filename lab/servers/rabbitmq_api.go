package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Permissions are the three regular expressions of a user in a virtual host.
type Permissions struct {
	Configure string `json:"configure"`
	Write     string `json:"write"`
	Read      string `json:"read"`
}

// Policy is a RabbitMQ policy as the management API takes it.
type Policy struct {
	Pattern    string         `json:"pattern"`
	Definition map[string]any `json:"definition"`
	Priority   int            `json:"priority"`
	ApplyTo    string         `json:"apply-to"`
}

// Version is the broker's version, as in "3.10.8".
func (r *RabbitMQ) Version(ctx context.Context) (string, error) {
	var overview struct {
		Version string `json:"rabbitmq_version"`
	}
	err := r.API(ctx, http.MethodGet, "/api/overview", nil, &overview)
	return overview.Version, err
}

// PutUser creates or replaces a user. Tags are separated by commas, as in "monitoring".
func (r *RabbitMQ) PutUser(ctx context.Context, name, password, tags string) error {
	body := map[string]string{"password": password, "tags": tags}
	return r.API(ctx, http.MethodPut, "/api/users/"+url.PathEscape(name), body, nil)
}

// PutVHost creates a virtual host and lets the admin user use it.
func (r *RabbitMQ) PutVHost(ctx context.Context, vhost string) error {
	if err := r.API(ctx, http.MethodPut, "/api/vhosts/"+url.PathEscape(vhost), nil, nil); err != nil {
		return err
	}
	return r.PutPermissions(ctx, vhost, adminUser, Permissions{Configure: ".*", Write: ".*", Read: ".*"})
}

// PutPermissions sets what a user may do in a virtual host.
func (r *RabbitMQ) PutPermissions(ctx context.Context, vhost, user string, permissions Permissions) error {
	path := "/api/permissions/" + url.PathEscape(vhost) + "/" + url.PathEscape(user)
	return r.API(ctx, http.MethodPut, path, permissions, nil)
}

// PutPolicy creates or replaces a policy.
func (r *RabbitMQ) PutPolicy(ctx context.Context, vhost, name string, policy Policy) error {
	path := "/api/policies/" + url.PathEscape(vhost) + "/" + url.PathEscape(name)
	return r.API(ctx, http.MethodPut, path, policy, nil)
}

// API makes one request of the management API as the admin user. The path is sent as it is, body and answer are
// JSON, and each may be nil.
func (r *RabbitMQ) API(ctx context.Context, method, path string, body, answer any) error {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("%s %s: encode: %w", method, path, err)
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, r.ManagementURL()+path, reader)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	request.SetBasicAuth(r.Admin())
	request.Header.Set("Content-Type", "application/json")
	// One connection per call leaves no goroutine behind for leak checks, and a restart finds no dead connection.
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, response.Status, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, path, err)
	}
	return nil
}
