package main

import (
	"context"
	"errors"
	"fmt"
	stdio "io"
	"slices"
	"strings"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/alerts/ruletest"
	"dedup-dashboard/internal/config"
)

const testRulesUsage = "usage: dashboard test-rules [-config FILE] FILE [FILE...]"

// testRules runs files of tests of alert rules: the built-in ones, or with a configuration those that it leads to.
func testRules(ctx context.Context, args []string, io streams) error {
	path, names, err := parseFlags(args, testRulesUsage)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return unusable(testRulesUsage)
	}
	if i := slices.IndexFunc(names, func(arg string) bool { return strings.HasPrefix(arg, "-") }); i >= 0 {
		return unusable("%s stands behind a file; %s", names[i], testRulesUsage)
	}
	setup, err := testSetup(path)
	if err != nil {
		return &unusableError{err}
	}
	files, err := readTests(names, setup)
	if err != nil {
		return &unusableError{err}
	}
	return runTests(ctx, files, plainWriter{io.out})
}

// testSetup returns what is tested: the rules and pipelines of a configuration, or the built-in rules without one.
func testSetup(path string) (ruletest.Setup, error) {
	if path == "" {
		rules, err := rule.Resolve(rule.Defaults(), nil)
		return ruletest.Setup{Rules: rules}, err
	}
	cfg, err := config.Load(path)
	if err != nil {
		return ruletest.Setup{}, err
	}
	return ruletest.Setup{Rules: cfg.Alerts.Rules, Pipelines: cfg.Pipelines}, nil
}

// readTests reads all files, so that everything that is wrong with any of them is said at once.
func readTests(paths []string, setup ruletest.Setup) ([]*ruletest.File, error) {
	var files []*ruletest.File
	var errs []error
	for _, path := range paths {
		file, err := readTest(path, setup)
		files, errs = append(files, file), append(errs, err)
	}
	return files, errors.Join(errs...)
}

func readTest(path string, setup ruletest.Setup) (*ruletest.File, error) {
	text, err := config.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the tests: %w", err)
	}
	return ruletest.Parse(path, text, setup)
}

// runTests runs files and prints what was not as expected. Its error says how many tests failed.
func runTests(ctx context.Context, files []*ruletest.File, out stdio.Writer) error {
	tests, failed := 0, 0
	for _, file := range files {
		failures, err := file.Run(ctx)
		if err != nil {
			return fmt.Errorf("run the tests: %w", err)
		}
		broken := make(map[string]bool)
		for _, f := range failures {
			fmt.Fprintln(out, f)
			broken[f.Test] = true
		}
		tests, failed = tests+file.Tests(), failed+len(broken)
		fmt.Fprintf(out, "%s: %d of %d tests hold, the alerts were looked at %d times\n",
			file.Name(), file.Tests()-len(broken), file.Tests(), file.Looks())
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d tests fail", failed, tests)
	}
	return nil
}
