package exports

import (
	"context"
	"net"
	"testing"
	"time"
)

// Patient lets a reader wait for long answers on a busy machine.
func Patient(r *Reader) *Reader {
	r.client.Timeout = 2 * time.Minute
	return r
}

// Names are what a resolver finds.
type Names struct {
	SRV []*net.SRV
	Err error
}

// LookupHost implements resolver.
func (n *Names) LookupHost(context.Context, string) ([]string, error) { return nil, n.Err }

// LookupSRV implements resolver.
func (n *Names) LookupSRV(context.Context, string, string, string) (string, []*net.SRV, error) {
	return "", n.SRV, n.Err
}

// Resolve lets a reader find processes by names of the test.
func Resolve(r *Reader, n *Names) { r.from.(*endpoints).resolve = n }

// FuzzExpressions: whatever is written is refused or read, and what is read is within bounds.
func FuzzExpressions(f *testing.F) {
	for _, r := range recipes {
		for _, text := range []string{r.Handled, r.Failed, r.Duplicates, r.Ack, r.Work} {
			f.Add(text)
		}
	}
	for _, text := range []string{"", "a", "a or b - c + d", `a{b="c\"}",d=~"x|y"}`, `{"a.b",c!="d"}`, "a{", "or", "a or", `a{b="` + "\x00" + `"}`, "a b", "-a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseExpr(text)
		if err != nil {
			if len(err.Error()) > 2*maxExpr+400 {
				t.Errorf("an error of %d characters", len(err.Error()))
			}
			return
		}
		for _, terms := range e {
			for _, term := range terms {
				if term.metric == "" || term.sign != 1 && term.sign != -1 {
					t.Errorf("%q has the term %+v", text, term)
				}
				_ = term.fits(map[string]string{"b": "c"})
			}
		}
	})
}

func TestEveryRecipeCanBeRun(t *testing.T) {
	for name := range recipes {
		if _, err := (Config{Recipe: name}).compile(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
