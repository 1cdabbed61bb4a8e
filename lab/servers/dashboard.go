package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// BuildDashboard returns the path of the dashboard's program: the one that the environment's DASHBOARD_PROGRAM names, which scripts/test has
// built for all who ask, or else one that it builds into a folder.
func BuildDashboard(ctx context.Context, dir string) (string, error) {
	if path := os.Getenv("DASHBOARD_PROGRAM"); path != "" {
		return path, nil
	}
	path := filepath.Join(dir, "dashboard")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "dedup-dashboard/cmd/dashboard").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the dashboard: %w\n%s", err, out)
	}
	return path, nil
}
