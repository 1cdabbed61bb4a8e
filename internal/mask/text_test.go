package mask

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/message"
)

const planted = "hunter2Secret"

// shapes are texts of systems that print names and values in their own ways, each with a secret in it.
func shapes() map[string]string {
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI" + planted + "In0.c2lnbmF0dXJl"
	return map[string]string{
		"the keyword arguments of a Celery task":  `{'user': 'ada', 'password': 'hunter2Secret'}`,
		"those arguments cut":                     `{'user': 'ada', 'password': 'hunter2Sec...`,
		"the arguments of a Celery task":          `('ada', 'hunter2Secret')`,
		"a list of Python":                        `['ada', 'hunter2Secret']`,
		"JSON that is cut":                        `{"user":"ada","password":"hunter2Secret`,
		"JSON with a comment":                     "{\"a\":1, // x\n\"password\":\"hunter2Secret\"}",
		"JSON nested too deep":                    strings.Repeat("[", 1200) + `{"password":"hunter2Secret"}` + strings.Repeat("]", 1200),
		"JSON nested beyond what a parser takes":  strings.Repeat(`{"a":`, 12000) + `"hunter2Secret"` + strings.Repeat("}", 12000),
		"lines of JSON":                           "{\"a\":1}\n{\"password\":\"hunter2Secret\"}\n",
		"JSON behind words":                       `payload={"password":"hunter2Secret"}`,
		"JSON of a person behind words":           `customer={"name":"hunter2Secret"}`,
		"JSON in the midst of words":              `cannot handle {"card":{"number":"hunter2Secret"}}: boom`,
		"JSON with escapes in the midst of words": `body was {\"password\":\"hunter2Secret\"} here`,
		"a form":                                        "user=ada&password=hunter2Secret&x=1",
		"a form with an index":                          "user[password]=hunter2Secret",
		"a form with an encoded index":                  "user%5Bpassword%5D=hunter2Secret",
		"a form with JSON":                              "data=" + url.QueryEscape(`{"password":"hunter2Secret"}`),
		"the address of a server":                       "amqp://shop:hunter2Secret@mq.internal:5672/vhost",
		"the address of a server, a slash in it":        "amqp://shop:a/hunter2Secret@mq.internal:5672/vhost",
		"the addresses of two servers":                  "amqp://a:x@one,amqp://b:hunter2Secret@two",
		"a server with a token for a user":              "https://hunter2Secret@github.com/x/y",
		"an address with a token":                       "https://x.example/hook?a=1&token=hunter2Secret#top",
		"an address with a token in its fragment":       "https://x.example/#access_token=hunter2Secret",
		"an address of a database":                      "jdbc:mysql://db:3306/shop?user=root&password=hunter2Secret",
		"a string that connects":                        "Server=db;User Id=sa;Pwd=hunter2Secret;Encrypt=true",
		"a string that connects, of libpq":              "host=db user=ada password='hunter2Secret' sslmode=require",
		"XML":                                           "<login><password>hunter2Secret</password></login>",
		"XML behind words":                              "got <?xml version='1.0'?><p>hunter2Secret</p>",
		"an attribute":                                  `<user password="hunter2Secret"/>`,
		"YAML":                                          "user: ada\npassword: hunter2Secret\n",
		"YAML in a block":                               "password: |\n  hunter2Secret\n",
		"properties of Java":                            "spring.datasource.password = hunter2Secret",
		"an object of Java":                             "Login{user='ada', password='hunter2Secret'}",
		"a map of Java":                                 "{user=ada, password=hunter2Secret}",
		"a map of Go":                                   "map[password:hunter2Secret user:ada]",
		"a hash of Ruby":                                `{:user=>"ada", :password=>"hunter2Secret"}`,
		"what PHP serializes":                           `a:1:{s:8:"password";s:13:"hunter2Secret";}`,
		"a row":                                         `"password","hunter2Secret"`,
		"words":                                         "login failed, password: hunter2Secret",
		"words with a space in the value":               "password=my hunter2Secret; user=ada",
		"words in full width":                           "密码：hunter2Secret",
		"a header of HTTP":                              "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ada:"+planted)),
		"the value of a header of HTTP":                 "Bearer hunter2Secret",
		"its small letters":                             "sent bearer hunter2Secret to them",
		"a web token":                                   "refused " + jwt + " as expired",
		"a private key":                                 "-----BEGIN PRIVATE KEY-----\nhunter2Secret\n-----END PRIVATE KEY-----",
		"a text in a text in a text":                    quotedOften(`{"password":"hunter2Secret"}`, 3),
		"a text in too many texts":                      quotedOften(`{"password":"hunter2Secret"}`, 10),
		"a name with invisible characters":              "pass\u200bword=hunter2Secret",
		"a name with letters in full width":             "ｐａｓｓｗｏｒｄ=hunter2Secret",
		"a value in doubled quotes":                     `pwd="a""hunter2Secret"`,
		"a value with an escaped quote":                 `password="a\"hunter2Secret"`,
		"a value in brackets":                           "password=[x, b=hunter2Secret]",
		"the arguments of a command":                    "mysqldump --password=hunter2Secret shop",
		"a member whose name is written with an escape": `{"pass\u0077ord":"hunter2Secret"}`,
	}
}

// quotedOften is a text as the only member of an object, again and again.
func quotedOften(text string, n int) string {
	for range n {
		text = `{"x":` + string(appendJSONText(nil, text)) + `}`
	}
	return text
}

func TestNoShapeOfATextShowsWhatItHides(t *testing.T) {
	m := New(Words())
	for name, text := range shapes() {
		body, _ := json.Marshal(map[string]any{"note": text, "list": []string{text}})
		l := message.Message{}
		l.Body, l.Headers = body, map[string]any{"note": text, "deep": map[string]any{"list": []any{text}}, "bytes": []byte(text)}
		l.ReplyTo = text
		got := m.Message(l)
		all, err := json.Marshal(map[string]any{"headers": got.Headers, "reply": got.ReplyTo, "bytes": string(got.Headers["bytes"].([]byte))})
		if err != nil || !json.Valid(got.Body) && got.Why == "" {
			t.Errorf("%s: %v, %.200s", name, err, got.Body)
		}
		for _, shown := range []string{string(all), string(got.Body)} {
			for _, secret := range []string{planted, "hunter2Sec", base64.StdEncoding.EncodeToString([]byte("ada:" + planted))} {
				if strings.Contains(shown, secret) {
					t.Errorf("%s: %.300s is shown as %.300s", name, text, shown)
					break
				}
			}
		}
	}
}

func TestNamesOfSecretsAndPersonsInThreeLanguagesAreHidden(t *testing.T) {
	m := New(Words())
	for _, name := range []string{
		"passphrase", "pin", "otp", "jwt", "access_key", "bearer", "dsn", "connection_string", "national_id", "密码", "手机号", "身份证", "用户密码", "銀行卡號", "Kennwort", "Straße", "strasse",
		"geburtsdatum", "Steuer-ID", "Führerscheinnummer", "fuehrerschein", "userPin", "card_pin", "PINCode", "pins", "newpin", "HTTPPin", "smsOtp", "otp2", "accessKeyId", "X-JWT-Assertion",
		"clientSecret", "connectionString", "cookie", "e-mail", "ｐｉｎ", "argsrepr", "kwargsrepr", "oauth2", "sig", "telefonNr", "PLZ", "zip-code", "Vorname", "mailTo",
	} {
		if !m.judge(name).hides {
			t.Errorf("%s is shown", name)
		}
	}
	for _, name := range []string{
		"shipping", "pinned", "pinging", "spinner", "opinion", "mapping", "company", "expand", "japan", "lifespan", "discarded", "wildcard", "author", "authority", "panel", "emailed_at"[7:],
		"orderId", "order_number", "hotpot", "design", "assign", "signal", "sigma", "cubic", "robotPosition", "microphone", "secretary", "quantity", "status", "createdAt", "description", "订单号", "状态",
		"plan", "planId", "produkt", "Bestellnummer", "retry_count", "x-death", "traceparent", "content_type", "businessKey", "sku", "routing-key",
	} {
		if m.judge(name).hides {
			t.Errorf("%s is hidden", name)
		}
	}
}

func TestAddressesOfQueuesAreShownWithoutTheirPasswords(t *testing.T) {
	m := New(Words())
	const plain, signed, shown = "rabbitmq://mq/shop/orders_error?durable=true", "amqps://shop:hunter2@mq/shop", "amqps://***@mq/shop"
	for _, name := range []string{"MT-Fault-InputAddress", "inputAddress", "faultAddress", "sourceAddress", "destinationAddress", "responseAddress"} {
		l := message.Message{}
		l.Headers = map[string]any{name: plain, "x": map[string]any{name: signed}}
		l.Body = []byte(`{"` + name + `":"` + plain + `","list":[{"` + name + `":"` + signed + `"}]}`)
		got := m.Message(l)
		if got.Headers[name] != plain || got.Headers["x"].(map[string]any)[name] != shown {
			t.Errorf("the headers are %v", got.Headers)
		}
		if want := strings.Replace(string(l.Body), signed, shown, 1); string(got.Body) != want {
			t.Errorf("%s became %s", l.Body, got.Body)
		}
		l.Headers, l.Body = map[string]any{name: "5 Main Street, Berlin"}, []byte(`{"`+name+`":"5 Main Street, Berlin"}`)
		if got := m.Message(l); got.Headers[name] != Hidden || string(got.Body) != `{"`+name+`":"***"}` {
			t.Errorf("the address of a person is shown: %v, %s", got.Headers, got.Body)
		}
	}
}

func TestWordsThatHideNothingStayAsTheyAre(t *testing.T) {
	m := New(Words())
	for _, text := range []string{
		"plain words", "2026-11-23T10:00:00Z", "order 7 of 9: cannot be shipped (twice)", "java.lang.IllegalStateException: no stock", "com.shop.TokenExpiredException: it expired at 10:00",
		"at com.shop.TokenService.get(TokenService.java:42)\n\tat com.shop.AuthFilter.go(AuthFilter.java:7)", "  File \"/app/auth.py\", line 3, in login", "at Shop.Auth() in C:\\src\\TokenService.cs:line 42",
		"urn:message:Shop:Token:Created", "https://shop.example/orders/7?page=2", "rabbitmq://mq:5672/shop/orders", "[INFO] started", "[2026-11-23 10:00:00,123] started: all", "{0} of {OrderId} failed",
		"a < b and c > d", "List<String> x = y", "k1=v1;k2=v2", "unknown field \"token\"", "token refused", "Shop::Token::Created", `{"a":[1,2,"x=y"]}`, "", "{}", "(1) no", "密码错误",
		"Basic plan", "bobby", "host:5672", "0 9 * * 1-5", "application/json; charset=utf-8", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	} {
		if got := m.Begin().Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for text, want := range map[string]string{
		`boom {"password":"x","n":1} at 7`:           `boom {"password":"***","n":1} at 7`,
		"a=1&token=x&b=2":                            "a=1&token=***&b=2",
		"host=db password='a b' user=ada":            "host=db password=*** user=ada",
		"Server=db;Pwd=a b;Encrypt=true":             "Server=db;Pwd=***;Encrypt=true",
		"password: x\nat com.shop.A.b(A.java:1)":     "password: ***\nat com.shop.A.b(A.java:1)",
		"{\"a\":1}\n{\"token\":\"x\"}":               "{\"a\":1}\n{\"token\":\"***\"}",
		"Bearer x.y":                                 "Bearer ***",
		"see https://u:p@h/x and https://h/y?sig=z#": "see https://***@h/x and https://h/y?sig=***",
	} {
		if got := m.Begin().Text(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}

func TestABodyOrHeaderThatIsNotUTF8IsNotShown(t *testing.T) {
	l := message.Message{}
	l.Body = []byte("{\"\xc3\xdc\xc2\xeb\":\"hunter2\"}") // 密码 in GBK
	if got := New(Words()).Message(l); got.Body != nil || got.Why == "" {
		t.Errorf("%q is shown", got.Body)
	}
	l.Headers = map[string]any{"a": "\xff\xfehunter2", "b": []byte("\xff\xfehunter2"), "c\xff": "hunter2", "d": "grün"}
	if got := New(Words()).Message(l).Headers; got["a"] != Hidden || string(got["b"].([]byte)) != Hidden || got["c\xff"] != Hidden || got["d"] != "grün" {
		t.Errorf("%q is shown", got)
	}
}

// megabyte is a body as shops send them.
func megabyte() []byte {
	var b strings.Builder
	b.WriteString(`{"orders":[`)
	for i := 0; b.Len() < 1<<20; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"order_id":"o-%d","created_at":"2026-11-23T10:00:00Z","customer":{"name":"Ada","email":"a@b.c","id":%d},"lines":[{"sku":"A-1","qty":2,"price":19.9}],"note":"first line\nsecond","callback":"https://shop.example/cb?id=%d","raw":"{\"token\":\"t\",\"n\":1}"}`, i, i, i)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func BenchmarkMaskAMegabyte(b *testing.B) {
	m := New(Words())
	body := megabyte()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, ok := m.json(body); !ok {
			b.Fatal("it is not JSON")
		}
	}
}

// worked is the processor time that this process has taken: on a busy machine the time that passes says nothing of the work.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestTheWorkOfMaskingGrowsWithTheBodyAlone compares a text with one eight times as long: what takes the square takes 64 times as long.
func TestTheWorkOfMaskingGrowsWithTheBodyAlone(t *testing.T) {
	m := New(Words())
	hostile := []string{"{", "[", "{}", "{a}", "a=", "a:", "pwd=x)", "password=", "password= ", "://a:b", "a://b:c", "\"", "'password',", "=", " ", "<", "%5B", "\\\"", "eyJ", "bearer ", "a=%41&", "a=%41", "a=b%41", "a=[", "密", "：", "{\"a\":1}", "pin", "%25", "&amp;", "&#38;", "a[b]", "a[b", "a%5Bb%5D", "<pin ", "--pin ", "eyJhIjo", "cookie: "}
	took := func(piece string, size int) time.Duration {
		text := "x:" + strings.Repeat(piece, size/len(piece)+1)
		begun := worked(t)
		_ = m.Begin().Text(text)
		return worked(t) - begun
	}
	for _, piece := range hostile {
		const size = 32 << 10
		once, eight := time.Hour, time.Hour
		// The garbage of others makes one try slow, and not three.
		for try := 0; try < 3 && eight > 100*time.Millisecond && eight > 30*once || try == 0; try++ {
			once, eight = min(once, took(piece, size)), min(eight, took(piece, 8*size))
		}
		if eight > 30*once && eight > 100*time.Millisecond {
			t.Errorf("%q: %v for one, %v for eight times as much", piece, once, eight)
		}
	}
}

// TestAPlantedSecretIsFoundInNoText draws texts around a secret that stands under a hidden name.
func TestAPlantedSecretIsFoundInNoText(t *testing.T) {
	m := New(Words())
	keys := slices.Sorted(maps.Keys(shapes()))
	rapid.Check(t, func(t *rapid.T) {
		text := shapes()[rapid.SampledFrom(keys).Draw(t, "shape")]
		if before := rapid.SampledFrom([]string{"", "boom: ", "[INFO] ", "x=1&", "n=2 ", "{0} "}).Draw(t, "before"); !strings.HasPrefix(text, "('") && !strings.HasPrefix(text, "['") && !strings.HasPrefix(text, "\"") {
			text = before + text
		}
		text = quotedOften(text, rapid.IntRange(0, 4).Draw(t, "depth"))
		headers := m.Begin().Headers(map[string]any{"note": text, rapid.String().Draw(t, "name"): rapid.String().Draw(t, "value")})
		if shown := headers["note"].(string); strings.Contains(shown, planted) || strings.Contains(shown, "hunter2Sec") {
			t.Fatalf("%q is shown as %q", text, shown)
		}
	})
}

func FuzzMaskedTextsNeverPanicAndShowNoValueOfAPair(f *testing.F) {
	for _, text := range shapes() {
		f.Add(text)
	}
	m := New(Words())
	f.Fuzz(func(t *testing.T, text string) {
		once := m.Begin().Text(text)
		if !strings.Contains(text, "zq7Planted") {
			if shown := m.Begin().Text(text + "\npassword=zq7Planted"); strings.Contains(shown, "zq7Planted") {
				t.Fatalf("%q shows what stands behind it: %q", text, shown)
			}
			body, err := json.Marshal(map[string]string{"note": text, "password": "zq7Planted"})
			if got, ok := m.json(body); err != nil || !ok || !json.Valid(got) || strings.Contains(string(got), "zq7Planted") {
				t.Fatalf("%q became %q", body, got)
			}
		}
		l := message.Message{Body: []byte(text)}
		l.Headers = map[string]any{text: text, "note": []byte(text)}
		_ = m.Message(l)
		_ = once
	})
}
