package servers_test

import (
	"strings"
	"testing"

	"dedup-dashboard/lab/servers"
)

func TestARootFolderWithoutTheServerSaysSo(t *testing.T) {
	starts := map[string]func(dir, root string) error{
		"RABBITMQ": func(dir, root string) error {
			_, err := servers.StartRabbitMQ(t.Context(), servers.RabbitMQOptions{Dir: dir, Root: root})
			return err
		},
		"REDIS": func(dir, root string) error {
			_, err := servers.StartRedis(t.Context(), servers.RedisOptions{Dir: dir, Root: root})
			return err
		},
		"MARIADB": func(dir, root string) error {
			_, err := servers.StartMariaDB(t.Context(), servers.SQLOptions{Dir: dir, Root: root})
			return err
		},
		"POSTGRES": func(dir, root string) error {
			_, err := servers.StartPostgres(t.Context(), servers.SQLOptions{Dir: dir, Root: root})
			return err
		},
	}
	for kind, start := range starts {
		t.Run(kind+" by option", func(t *testing.T) {
			empty := t.TempDir()
			if err := start(t.TempDir(), empty); err == nil || !strings.Contains(err.Error(), "is missing in "+empty) && !strings.Contains(err.Error(), "only root") {
				t.Errorf("%v", err)
			}
		})
		t.Run(kind+" by environment", func(t *testing.T) {
			t.Setenv(kind+"_ROOT", t.TempDir()+"/none")
			if err := start(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), kind+"_ROOT: no root folder") {
				t.Errorf("%v", err)
			}
		})
	}
}
