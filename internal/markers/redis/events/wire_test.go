package events

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func push(channel, event string) string {
	var b strings.Builder
	b.WriteString(">4\r\n")
	for _, s := range []string{"pmessage", "__keyspace@0__:*", channel, event} {
		b.WriteString("$" + strconv.Itoa(len(s)) + "\r\n" + s + "\r\n")
	}
	return b.String()
}

func wireOf(text string) *bufio.Reader { return bufio.NewReaderSize(strings.NewReader(text), 64<<10) }

func TestANotificationKeepsItsKeyWhateverIsInIt(t *testing.T) {
	const prefix = "__keyspace@0__:"
	for _, key := range []string{"msg:1", "", "msg:a\r\nb", "\x00\xff\xfe", "$5\r\nhello\r\n", strings.Repeat("k", 1<<20), prefix, ">4\r\n"} {
		r := wireOf(push(prefix+key, "set") + push(prefix+"next", "del"))
		for _, want := range [][2]string{{key, "set"}, {"next", "del"}} {
			v, err := readWire(r)
			if err != nil {
				t.Fatal(err)
			}
			got, event, ok := v.notification(prefix)
			if !ok || got != want[0] || event != want[1] {
				t.Errorf("key of %d bytes: %v, %q, %d bytes", len(key), ok, event, len(got))
			}
		}
	}
	for _, other := range []string{push("__keyspace@1__:msg:1", "set"), ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n", "+OK\r\n", ">0\r\n"} {
		v, err := readWire(wireOf(other))
		if _, _, ok := v.notification(prefix); ok || err != nil {
			t.Errorf("%q is taken for a notification of ours, %v", other, err)
		}
	}
}

func TestAnswersAreReadAsTheProtocolSays(t *testing.T) {
	for text, want := range map[string]wireValue{
		"+OK\r\n":                            {kind: '+', text: "OK"},
		":-1\r\n":                            {kind: ':', text: "-1"},
		"-NOPERM no\r\n":                     {kind: '-', text: "NOPERM no"},
		"$-1\r\n":                            {kind: '_'},
		"_\r\n":                              {kind: '_'},
		"=8\r\ntxt:a\r\nb\r\n":               {kind: '=', text: "a\r\nb"},
		"%1\r\n+a\r\n:1\r\n":                 {kind: '%', items: []wireValue{{kind: '+', text: "a"}, {kind: ':', text: "1"}}},
		"|1\r\n+ttl\r\n:1\r\n$2\r\nhi\r\n":   {kind: '$', text: "hi"},
		"*2\r\n*0\r\n#t\r\n":                 {kind: '*', items: []wireValue{{kind: '*', items: []wireValue{}}, {kind: '#', text: "t"}}},
		"!9\r\nERR wrong\r\n+never read\r\n": {kind: '!', text: "ERR wrong"},
	} {
		got, err := readWire(wireOf(text))
		if d := cmp.Diff(want, got, cmp.AllowUnexported(wireValue{})); err != nil || d != "" {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, d)
		}
	}
	for text, want := range map[string]error{
		"":                                  io.EOF,
		"+OK":                               io.EOF,
		"+OK\n":                             errWire,
		"?\r\n":                             errWire,
		"$x\r\n":                            errWire,
		"$-2\r\n":                           errWire,
		"$999999999999\r\n":                 errWire,
		"*99999999\r\n":                     errWire,
		"$5\r\nhi":                          io.EOF,
		"$100000\r\nhi":                     io.ErrUnexpectedEOF,
		strings.Repeat("*1\r\n", 20) + ":1": errWire,
		"+" + strings.Repeat("x", 1<<17):    errWire,
		"*3\r\n+a\r\n$1000000000\r\n+b\r\n": errWire,
	} {
		if _, err := readWire(wireOf(text)); !errors.Is(err, want) {
			t.Errorf("%.40q: %v, want %v", text, err, want)
		}
	}
}

func FuzzWire(f *testing.F) {
	f.Add([]byte(push("__keyspace@0__:msg:a\r\nb", "set")), "msg:\xff\n")
	f.Add([]byte("%1\r\n+a\r\n=8\r\ntxt:a\r\nb\r\n"), "")
	f.Fuzz(func(t *testing.T, text []byte, key string) {
		r := bufio.NewReaderSize(bytes.NewReader(text), 4096)
		for range 100 {
			v, err := readWire(r)
			if err != nil {
				break
			}
			_, _, _ = v.notification("__keyspace@0__:")
		}
		v, err := readWire(wireOf(push("__keyspace@0__:"+key, "set")))
		got, _, ok := v.notification("__keyspace@0__:")
		if err != nil || !ok || got != key {
			t.Fatalf("key %q came out as %q, %v, %v", key, got, ok, err)
		}
		words, err := readWire(wireOf(string(appendCommand(nil, "PTTL", key))))
		if err != nil || len(words.items) != 2 || words.items[1].text != key {
			t.Fatalf("command with key %q: %+v, %v", key, words, err)
		}
	})
}
