package log

import (
	"context"
	"dedup-dashboard/internal/broker"
	"log/slog"
	"strings"
)

// Try begins to follow the broker's log with the account of the configuration's log section, and ends at once. It says why that
// fails and what to do about it, with the command that gives a missing permission; both are empty where it works. Without an
// account it is not ok.
func Try(ctx context.Context, config broker.Config) (why, remedy string, ok bool) {
	l, err := NewListener(config, slog.New(slog.DiscardHandler))
	if err != nil {
		return err.Error(), "", true
	}
	if l == nil {
		return "", "", false
	}
	defer l.mover.Close()
	if err := l.try(ctx); err != nil {
		if why, remedy = describeFailure(err); remedy == AccountRemedy {
			remedy = "rabbitmqctl set_permissions -p / " + shellQuoted(config.Log.Username) + ` '^amq\.gen-' '^amq\.gen-' '^(amq\.gen-.*|amq\.rabbitmq\.log)$'` +
				" (which replaces those that it has in the virtual host /)"
		}
	}
	return why, remedy, true
}

// try subscribes to the log and leaves.
func (l *Listener) try(ctx context.Context) error {
	link, done, err := l.mover.OpenBriefly(ctx, logVhost, "log", "listen to the broker's log")
	if err != nil {
		return err
	}
	defer done()
	if _, _, err := subscribeLog(link.Channel); err != nil {
		return link.Fail(broker.OrEnd(ctx, err))
	}
	return nil
}

// shellQuoted makes one word of a text for a shell.
func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
