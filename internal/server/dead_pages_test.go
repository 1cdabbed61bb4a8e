package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
)

func TestALookLeadsToTheTopOfWhatItFound(t *testing.T) {
	s := stocked(t, nil)
	res := s.as("operator", "POST", inventory+"/scan", url.Values{"queue": {inventoryDLQ}, "limit": {"100"}}.Encode())
	at, anchor, _ := strings.Cut(res.Header.Get("Location"), "#")
	if anchor != "found" || s.page("operator", at).Find("#found .classes").Length() != 1 {
		t.Errorf("it leads to #%s", anchor)
	}
}

func TestAMessageOfALookThatIsGoneIsFoundInTheNewerOne(t *testing.T) {
	s := stocked(t, nil)
	first, _ := s.looked("inventory", inventoryDLQ, "100").Find(".letters .c-id a").First().Attr("href")
	last, _ := s.page("operator", inventory+"?page=2").Find(".letters .c-id a").Last().Attr("href")
	s.looked("inventory", inventoryDLQ, "10") // by somebody else, of fewer messages
	res := s.as("operator", "GET", first+"&view=text", "")
	to := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.Contains(to, "view=text") || s.as("operator", "GET", to, "").StatusCode != http.StatusOK {
		t.Errorf("%s, to %q", res.Status, to)
	}
	if s.as("admin", "GET", strings.Replace(first, "/message?", "/edit?", 1), "").StatusCode != http.StatusOK {
		t.Error("its form to edit is gone")
	}
	doc, err := goquery.NewDocumentFromReader(s.as("operator", "GET", last, "").Body)
	if err != nil {
		t.Fatal(err)
	}
	back, _ := doc.Find(".sheet a.button").Attr("href")
	if text := oneLine(doc.Find(".sheet")); !strings.Contains(text, "o looked at the queue at ") || back != inventory+"?queue="+inventoryDLQ {
		t.Errorf("what the newer look did not see says %q and leads to %q", text, back)
	}
}

func TestWhatComesInIsARateOnlyWhenThereIsEnoughOfIt(t *testing.T) {
	for name, c := range map[string]struct {
		covered time.Duration
		want    string
	}{
		"two minutes":    {2 * time.Minute, "136 in 2 m"},
		"fourteen":       {14 * time.Minute, "136 in 14 m"},
		"fifteen":        {15 * time.Minute, "544/h"},
		"the whole hour": {time.Hour, "136/h"},
	} {
		v := 136 / c.covered.Hours()
		f := dedup.Figure{Quality: dedup.Derived, Unit: dedup.PerHour, Value: v, Low: v, High: v, N: 136, Window: time.Hour, Covered: c.covered, At: time.Now()}
		if got := show.InflowFigure(f, time.Now()).Text; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		s := stocked(t, nil)
		snap := *s.snapshots.Snapshot()
		snap.Pipelines = append([]dedup.PipelineStatus{}, snap.Pipelines...)
		for i := range snap.Pipelines {
			snap.Pipelines[i].Windows = append([]dedup.WindowFigures{}, snap.Pipelines[i].Windows...)
			for j := range snap.Pipelines[i].Windows {
				snap.Pipelines[i].Windows[j].DeadLetterInflow = f
			}
		}
		s.snapshots.snap.Store(&snap)
		if text := oneLine(s.page("operator", inventory).Find(".queue-facts")); !strings.Contains(text, c.want) {
			t.Errorf("%s: the page says %q", name, text)
		}
		if text := oneLine(s.page("operator", "/dead-letters").Find(".dead-list tbody")); !strings.Contains(text, c.want) {
			t.Errorf("%s: the list says %.200q", name, text)
		}
	}
	if got := show.InflowFigure(dedup.Unknown(dedup.PerHour, "no history"), time.Now()); got.Text != "unknown" {
		t.Errorf("what is not known is %q", got.Text)
	}
}

// lost has a pipeline whose dead-letter exchange is missing beside one that never had one.
func (s *site) lost() {
	snap := *s.snapshots.Snapshot()
	gone := dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "loyalty", Broker: "main", Vhost: "/", Queues: []string{"loyalty"}}, DeadLetters: dedup.Unknown(dedup.Count, "none"), DeadLetterRoutes: []dedup.DeadLetterRoute{{
		Source: dedup.QueueRef{Vhost: "/", Name: "loyalty"}, Exchange: "loyalty.dlx", KeyKept: true, Role: dedup.RouteMissing, Certain: true, Origin: "argument x-dead-letter-exchange",
		Note: "the exchange does not exist: dead letters are dropped",
	}}}
	none := gone
	none.Pipeline.Name, none.DeadLetterRoutes = "careless", []dedup.DeadLetterRoute{{Source: dedup.QueueRef{Vhost: "/", Name: "careless"}, Role: dedup.RouteMissing, Certain: true, Note: "no dead-letter exchange is set: dead letters are dropped"}}
	snap.Pipelines = append(append([]dedup.PipelineStatus{}, snap.Pipelines...), none, gone)
	s.snapshots.snap.Store(&snap)
}

func TestAPipelineWhoseDeadLettersAreDroppedStandsFirst(t *testing.T) {
	s := stocked(t, nil)
	s.lost()
	doc := s.page("viewer", "/dead-letters")
	row := doc.Find(".dead-list tbody tr").First()
	if text := oneLine(row); !strings.HasPrefix(text, "loyalty") || !strings.Contains(text, "messages are dropped: exchange loyalty.dlx is missing") || row.Find(".t-severe").Length() == 0 {
		t.Errorf("the first row is %q", text)
	}
	if text := oneLine(doc.Find(".hint")); !strings.Contains(text, "careless") || strings.Contains(text, "loyalty") {
		t.Errorf("without a dead-letter queue are %q", text)
	}
	href, _ := row.Find("a").First().Attr("href")
	for _, role := range []string{"viewer", "operator", "admin"} {
		res := s.as(role, "GET", href, "")
		if body := s.body(res); res.StatusCode != http.StatusOK || !strings.Contains(body, "exchange loyalty.dlx is missing") || !strings.Contains(body, "dead-letter-routes") {
			t.Errorf("%s: %s: %.300s", role, res.Status, body)
		}
	}
	if text := oneLine(s.page("operator", "/pipelines/careless/dead-letters").Find("main")); !strings.Contains(text, "no dead-letter exchange is set") {
		t.Errorf("a pipeline without an exchange says %q", text)
	}
	if res := s.as("operator", "GET", "/pipelines/loyalty/dead-letters?queue=none", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("a queue that it does not have: %s", res.Status)
	}
}

func TestThePageOfAMessageNamesWhatIsMasked(t *testing.T) {
	s := stocked(t, nil)
	at, _ := s.looked("inventory", inventoryDLQ, "10").Find(".letters .c-id a").First().Attr("href")
	if text := oneLine(s.page("operator", at).Find("#payload")); !strings.Contains(text, "Masked: ") || !strings.Contains(text, "email") {
		t.Errorf("the payload says %q", text)
	}
}

func TestAParkingQueueThatIsNotThereYetSaysSoAndWhatMakesIt(t *testing.T) {
	s := stocked(t, nil)
	doc := s.page("operator", inventory+"?queue="+inventoryDLQ+"&parking=1")
	if got := oneLine(doc.Find(".queue-facts .lead dd")); got != "no such queue yet" {
		t.Errorf("its messages are %q", got)
	}
	if got := oneLine(doc.Find("main > .absent")); got != "This queue does not exist yet: the first discard from "+inventoryDLQ+" makes it." {
		t.Errorf("it says %q", got)
	}
	if n := doc.Find("#look-title, .scan-form").Length(); n != 0 {
		t.Error("it can be looked at")
	}
	var body struct {
		Depth struct {
			Value *float64
			Why   string
		}
	}
	if s.apiAs("operator", "/api/v1"+inventory+"?queue="+inventoryDLQ+"&parking=1", &body); body.Depth.Value != nil || body.Depth.Why != "the queue does not exist yet" {
		t.Errorf("its depth is %+v", body.Depth)
	}
}
