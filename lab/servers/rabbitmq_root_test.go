package servers_test

import (
	"strings"
	"testing"

	"dedup-dashboard/lab/servers"
)

func TestARootFolderWithoutRabbitMQSaysSo(t *testing.T) {
	for name, start := range map[string]func(root string) error{
		"by option": func(root string) error {
			_, err := servers.StartRabbitMQ(t.Context(), servers.RabbitMQOptions{Dir: t.TempDir(), Root: root})
			return err
		},
		"by environment": func(root string) error {
			t.Setenv("RABBITMQ_ROOT", root)
			_, err := servers.StartRabbitMQ(t.Context(), servers.RabbitMQOptions{Dir: t.TempDir()})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := start(t.TempDir()); err == nil || !strings.Contains(err.Error(), "the root folder has no RabbitMQ") {
				t.Errorf("%v", err)
			}
		})
	}
}
