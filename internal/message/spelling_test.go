package message_test

import (
	"slices"
	"testing"

	"dedup-dashboard/internal/message"
)

func TestAUUIDOfAMQP10HasTwoSpellings(t *testing.T) {
	const uuid = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
	for name, c := range map[string]struct {
		id   string
		want []string
	}{
		"as RabbitMQ writes it":       {"urn:uuid:" + uuid, []string{"urn:uuid:" + uuid, uuid}},
		"the UUID alone":              {uuid, []string{uuid}},
		"no UUID behind the prefix":   {"urn:uuid:order-1", []string{"urn:uuid:order-1"}},
		"a UUID and more":             {"urn:uuid:" + uuid + "0", []string{"urn:uuid:" + uuid + "0"}},
		"a line break behind it":      {"urn:uuid:" + uuid + "\n", []string{"urn:uuid:" + uuid + "\n"}},
		"something before the prefix": {"x:urn:uuid:" + uuid, []string{"x:urn:uuid:" + uuid}},
		"no id":                       {"", []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := message.Spellings(c.id); !slices.Equal(got, c.want) {
				t.Errorf("%q", got)
			}
			if got, want := message.BareID(c.id), c.want[len(c.want)-1]; got != want {
				t.Errorf("bare: %q, want %q", got, want)
			}
		})
	}
}
