package broker

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/brokertest"
)

func TestHiddenQueuesAreNamedWithTheCommandThatShowsThem(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	server.Hide("billing")
	client := newClient(t, server.URL)
	for range 2 {
		sample, err := client.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []dedup.Problem{{
			Kind:   ProblemPermissionMissing,
			Text:   `1 of 7 queues are hidden from user "watcher": it has no permission in vhost "billing".`,
			Remedy: `rabbitmqctl set_permissions -p 'billing' 'watcher' '^$' '^$' '^$'`,
		}}
		if diff := cmp.Diff(want, sample.Problems); diff != "" {
			t.Error(diff)
		}
	}
	probes := slices.DeleteFunc(server.Requests(), func(r string) bool { return !strings.HasPrefix(r, "/api/queues/") })
	if len(probes) != 1 {
		t.Errorf("the second reading asked again: %q", probes)
	}
}

func TestAQueueDeletedBetweenCountAndListIsNotHidden(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	server.SetQueues(queue("q", ""))
	sample, err := newClient(t, server.URL).Sample(t.Context())
	if err != nil || len(sample.Problems) != 0 {
		t.Errorf("%+v, %v", sample.Problems, err)
	}
}

func TestHiddenQueuesAreReportedEvenIfTheirVhostsCannotBeNamed(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	server.Hide("billing")
	server.Fail("vhosts", 0, brokertest.Status(401, "not_authorised", "Not monitor user"))
	sample, err := newClient(t, server.URL).Sample(t.Context())
	if err != nil || len(sample.Problems) != 1 || !strings.Contains(sample.Problems[0].Text, "could not be named") {
		t.Errorf("%+v, %v", sample.Problems, err)
	}
}
