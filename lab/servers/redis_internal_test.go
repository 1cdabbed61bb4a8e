package servers

import "testing"

func TestAStrangerThatHasThePortIsNotTakenForOurs(t *testing.T) {
	stranger, err := StartRedis(t.Context(), RedisOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stranger.Kill)
	ours := &Redis{options: RedisOptions{Dir: t.TempDir()}, program: stranger.program, port: stranger.port}
	if err := ours.boot(t.Context()); err == nil || !isPortConflict(err.Error()) {
		t.Errorf("on the port of another server: %v, want a conflict, after which other ports are tried", err)
	}
}
