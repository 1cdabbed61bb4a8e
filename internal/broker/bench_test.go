package broker

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"dedup-dashboard/lab/brokertest"
)

// pageTime is what RabbitMQ 3.10.8 took for a page of 500 queues out of 5,000 on two cores.
const pageTime = 110 * time.Millisecond

// BenchmarkQueues5000 compares reading the pages of 5,000 queues raw with the client's reading of the same pages, from a
// server that answers at once, which leaves only the client's own work, and from one that takes the time of a broker.
func BenchmarkQueues5000(b *testing.B) {
	const queues, pages = 5000, 10
	for _, pace := range []struct {
		name string
		time time.Duration
	}{{"instant", 0}, {"broker", pageTime}} {
		server := servePages(b, brokertest.Queues(b, queues), pages, pace.time)
		client := newClient(b, server.URL, within(time.Minute))
		b.Run(pace.name+"/raw", func(b *testing.B) {
			for b.Loop() {
				for page := range pages {
					readRaw(b, client, page+1)
				}
			}
		})
		b.Run(pace.name+"/client", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				list, err := client.queues.pages(b.Context(), url.Values{})
				if err != nil || len(list.queues) != queues {
					b.Fatalf("%v", err)
				}
			}
		})
	}
}

func readRaw(b *testing.B, client *Client, page int) {
	b.Helper()
	query := url.Values{"page": {strconv.Itoa(page)}, "page_size": {pageSize}}
	request, _, err := client.api.request(b.Context(), APIPath("queues"), query)
	if err != nil {
		b.Fatal(err)
	}
	answer, err := client.api.http.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		b.Fatal(err)
	}
}

// servePages serves pages that were made before, so that the server costs nothing.
func servePages(b *testing.B, queues []json.RawMessage, pages int, pace time.Duration) *httptest.Server {
	b.Helper()
	size := len(queues) / pages
	bodies := make(map[string][]byte)
	for p := range pages {
		items, err := json.Marshal(queues[p*size : (p+1)*size])
		if err != nil {
			b.Fatal(err)
		}
		bodies[strconv.Itoa(p+1)] = fmt.Appendf(nil, `{"filtered_count":%d,"items":%s,"page":%d,"page_count":%d}`, len(queues), items, p+1, pages)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(pace)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(bodies[r.URL.Query().Get("page")])
	}))
	b.Cleanup(server.Close)
	return server
}
