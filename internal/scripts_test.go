package internal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestSetupFinishesPackagesThatWereCutOffOnlyWhereThereAreSomeAndSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		states string
		status int
		says   string
	}{
		"nothing was cut off":            {"ii  bash\nrc  old-thing\nhi  held\n", 1, ""},
		"one is half configured":         {"ii  bash\niF  rabbitmq-server\n", 0, "rabbitmq-server"},
		"one is unpacked alone":          {"iU  erlang-base\nii  bash\n", 0, "erlang-base"},
		"one waits for another's action": {"iW  man-db\nit  libc-bin\n", 0, "libc-bin man-db"},
		"the state cannot be read":       {"", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			programs := t.TempDir()
			query := "#!/bin/sh\ncat <<'STATES'\n" + c.states + "STATES\n"
			if err := os.WriteFile(filepath.Join(programs, "dpkg-query"), []byte(query), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("../scripts/unfinished-packages") // its input is no terminal
			cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
			out, _ := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != c.status || !strings.Contains(string(out), c.says) || (c.status == 0) != strings.Contains(string(out), "dpkg --configure -a") {
				t.Errorf("it ended with %d and said %q", got, out)
			}
		})
	}
}

func TestSetupAsksSomebodyAtATerminal(t *testing.T) {
	setup, err := os.ReadFile("../scripts/setup")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(setup), "dpkg --configure") != 1 || !strings.Contains(string(setup), "if ((unfinished == 0)); then as_root dpkg --configure -a; fi") {
		t.Error("scripts/setup finishes packages without having asked")
	}
}
