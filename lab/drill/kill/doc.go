// Package kill holds the tests that end the dashboard, its settle loop and the broker with SIGKILL while dead letters are requeued, and
// keep a ledger of every message: none may be lost, and at most a window of copies may come from one kill.
//
// A longer run than that of make test:
//
//	go test -v -timeout 2h ./lab/drill/kill -run TestKills/dashboard/it_goes_on_by_itself_after -kills 50 -rounds 50 -messages 10000
//	go test -v -timeout 2h ./lab/drill/kill -run TestKills/dashboard/it_goes_on_by_itself_after -kills 10 -messages 100000
package kill
