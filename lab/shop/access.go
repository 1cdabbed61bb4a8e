package shop

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"dedup-dashboard/lab/servers"
)

// The names of the dashboard's accounts: watcher on the broker and in Redis looks, actor in Redis changes markers, mover
// on the broker moves dead letters, measurer traces deliveries for exact measurements.
const (
	watcher  = "watcher"
	actor    = "actor"
	mover    = "mover"
	measurer = "measurer"
)

// access are the dashboard's accounts: those that look cannot touch.
type access struct {
	brokerPassword   string
	moverPassword    string
	measurerPassword string
	// redisPassword is empty where Redis is older than 7 and cannot limit a user to reading.
	redisPassword string
	actorPassword string
}

// watcherRules let the dashboard walk the keys of a database and read markers and reported counters.
const watcherRules = "resetkeys resetchannels -@all +ping +select +info +time +dbsize +scan +type +exists +get +getrange +strlen " +
	"+ttl +pttl +expiretime +pexpiretime +object|idletime +object|freq +object|encoding +hget +hmget +hlen +hscan +hgetall " +
	"+client|setname +client|id +command %R~msg:* %R~retry:* %R~dedup:* %R~dedupstats:*"

// actorRules let the dashboard change single markers and their retry counters: docs/stores.md.
const actorRules = "resetkeys resetchannels -@all +select +info +time +type +getrange +hlen +hgetall +pexpiretime +watch +multi +exec " +
	"+del +set +hset +pexpireat +publish &redisson_lock__channel:* ~msg:* ~retry:* ~dedup:* ~lock:*"

// watcherRules72 are the commands that Redis 7.2 added for clients that want to be recognised and not to disturb.
const watcherRules72 = " +client|no-touch +client|setinfo"

// notificationRules let the dashboard follow the notifications of each key that the shop writes, in any database. Redis compares
// the patterns of a subscription letter by letter, so that each must stand here.
func notificationRules() string {
	rules := " +psubscribe +config|get"
	for db := range 16 {
		for _, keys := range []string{"msg:*", "retry:*", "msg:dedup:*", "dedup:*"} {
			rules += fmt.Sprintf(" &__keyspace@%d__:%s", db, keys)
		}
	}
	return rules
}

var redisVersion = regexp.MustCompile(`\bv=([0-9]+)\.([0-9]+)`)

// watcherRulesFor returns the rules that a Redis understands, by what redis-server --version printed; empty for one
// that is too old for them.
func watcherRulesFor(version string) string {
	match := redisVersion.FindStringSubmatch(version)
	if match == nil {
		return ""
	}
	// The expression lets only digits through; a number too large for an int reads as the largest.
	major, _ := strconv.Atoi(match[1])
	minor, _ := strconv.Atoi(match[2])
	switch {
	case major < 7:
		return ""
	case major == 7 && minor < 2:
		return watcherRules
	default:
		return watcherRules + watcherRules72
	}
}

// redisArguments prepares the folder dir in f for a Redis that keeps its data over a restart and knows the watcher. All
// servers get the same accounts. The user stands in a file, because one made by a command is forgotten at a restart and arguments are seen by everybody.
func (a *access) redisArguments(ctx context.Context, f *folder, dir string) ([]string, error) {
	arguments := []string{"--appendonly", "yes", "--notify-keyspace-events", "K$gxem"}
	out, err := exec.CommandContext(ctx, "redis-server", "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("ask redis-server for its version (Debian and Ubuntu: apt-get install redis-server): %w", err)
	}
	rules := watcherRulesFor(string(out))
	if rules == "" {
		return arguments, nil
	}
	if a.redisPassword == "" {
		a.redisPassword, a.actorPassword = rand.Text(), rand.Text()
	}
	text := "user default on nopass ~* &* +@all\n" +
		"user " + watcher + " on >" + a.redisPassword + " " + rules + notificationRules() + "\n" +
		"user " + actor + " on >" + a.actorPassword + " " + actorRules + "\n"
	if err := os.MkdirAll(f.file(dir), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of Redis: %w", err)
	}
	users := filepath.Join(f.file(dir), "users.acl")
	if err := os.WriteFile(users, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write the users of Redis: %w", err)
	}
	return append(arguments, "--aclfile", users), nil
}

// redisURL is the address of a logical database for the watcher, actorURL for the actor.
func (a *access) redisURL(address string, db int) string {
	return databaseURL(address, db, watcher, a.redisPassword)
}

func (a *access) actorURL(address string, db int) string {
	return databaseURL(address, db, actor, a.actorPassword)
}

func databaseURL(address string, db int, user, password string) string {
	u := url.URL{Scheme: "redis", Host: address, Path: "/" + strconv.Itoa(db)}
	if password != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}

// moverPermissions let the dashboard take from dead-letter queues and parking queues, declare and delete parking queues, and
// send by the default exchange, which reaches any queue by its name: docs/accounts.md.
var moverPermissions = servers.Permissions{
	Configure: `^dedup\.parking\.`, Write: `^amq\.default$`, Read: `\.dlq$|^dedup\.parking\.`,
}

// measurerPermissions let the dashboard read the trace of deliveries; its tag lets it switch tracing on and off: docs/measure.md.
var measurerPermissions = servers.Permissions{
	Configure: `^amq\.gen-`, Write: `^amq\.gen-`, Read: `^(amq\.gen-.*|amq\.rabbitmq\.trace)$`,
}

// grantBroker makes the accounts on the broker: the watcher's tag shows it every queue, its permissions let it touch
// none; the mover has no tag, so that it cannot look around.
func (a *access) grantBroker(ctx context.Context, broker *servers.RabbitMQ) error {
	a.brokerPassword, a.moverPassword, a.measurerPassword = rand.Text(), rand.Text(), rand.Text()
	for _, account := range []struct {
		name, password, tags string
		permissions          servers.Permissions
	}{
		{watcher, a.brokerPassword, "monitoring", servers.Permissions{Configure: "^$", Write: "^$", Read: "^$"}},
		{mover, a.moverPassword, "", moverPermissions},
		{measurer, a.measurerPassword, "administrator", measurerPermissions},
	} {
		if err := broker.PutUser(ctx, account.name, account.password, account.tags); err != nil {
			return fmt.Errorf("make the dashboard's account %s on the broker: %w", account.name, err)
		}
		if err := broker.PutPermissions(ctx, "/", account.name, account.permissions); err != nil {
			return fmt.Errorf("limit the dashboard's account %s on the broker: %w", account.name, err)
		}
	}
	return nil
}
