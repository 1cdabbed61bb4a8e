package truth

import "time"

// Cases returns the table of cases in the order in which they are printed. A companion follows the case that it disturbs.
func Cases() []Case {
	const ms = time.Millisecond
	return []Case{
		{Name: "r3-resends", Scheme: R3, Must: true,
			Knobs: Knobs{Resend: 0.05, Prefetch: 10, Channels: 14, Work: Constant, Median: 80 * ms}},
		{Name: "r3-troubles", Scheme: R3, Must: true,
			Knobs: Knobs{Resend: 0.03, LostAck: 0.005, Fail: 0.02, FailTimes: 2, Prefetch: 1, Channels: 12, Work: LogNormal, Median: 45 * ms}},
		{Name: "r3-crashes", Scheme: R3, Must: true,
			Knobs: Knobs{Resend: 0.02, Crash: 0.003, Endless: 3, Prefetch: 50, Channels: 4, Work: LogNormal, Median: 10 * ms, ClaimTTL: 10 * time.Second}},
		{Name: "r3-loop", Scheme: R3, Must: true,
			Knobs: Knobs{Resend: 0.015, Endless: 1, Prefetch: 1, Channels: 6, Work: Constant, Median: 10 * ms}},
		{Name: "r3-gives-up", Scheme: R3, Must: true,
			Knobs: Knobs{Resend: 0.02, AlwaysFail: 0.01, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * ms}},
		{Name: "r3-reported", Scheme: R3, Must: true, Reports: true,
			Knobs: Knobs{Resend: 0.03, LostAck: 0.003, Fail: 0.01, FailTimes: 1, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * ms}},
		{Name: "r1-resends", Scheme: R1, Must: true,
			Knobs: Knobs{Resend: 0.04, LostAck: 0.003, Prefetch: 1, Channels: 16, Work: Bimodal, Median: 5 * ms}},
		{Name: "r1-crashes", Scheme: R1, Must: true,
			Knobs: Knobs{Resend: 0.02, Fail: 0.02, FailTimes: 1, Crash: 0.003, Prefetch: 50, Channels: 4, Work: LogNormal, Median: 10 * ms, ClaimTTL: 10 * time.Second}},
		{Name: "r1-no-id", Scheme: R1, Must: true,
			Knobs: Knobs{Resend: 0.03, NoID: true, Prefetch: 50, Channels: 14, Work: Constant, Median: 80 * ms}},
		{Name: "r5-flag", Scheme: R5,
			Knobs: Knobs{Resend: 0.03, LostAck: 0.003, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * ms}},
		{Name: "r6-timestamp", Scheme: R6,
			Knobs: Knobs{Resend: 0.03, Fail: 0.01, FailTimes: 1, Crash: 0.002, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * ms}},
		{Name: "d1-resends", Scheme: D1MariaDB, Must: true,
			Knobs: Knobs{Resend: 0.05, LostAck: 0.005, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * ms}},
		{Name: "d1-failures", Scheme: D1MariaDB, Must: true,
			Knobs: Knobs{Resend: 0.03, Fail: 0.01, FailTimes: 1, Crash: 0.002, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * ms}},
		{Name: "d2-failures", Scheme: D2MariaDB,
			Knobs: Knobs{Resend: 0.03, Fail: 0.02, FailTimes: 2, Crash: 0.002, Prefetch: 10, Channels: 14, Work: Constant, Median: 80 * ms}},
		{Name: "d3-kept", Scheme: D3Postgres,
			Knobs: Knobs{Resend: 0.03, Fail: 0.01, FailTimes: 1, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * ms}},
		{Name: "d3-deleted", Scheme: D3Deletes,
			Knobs: Knobs{Resend: 0.03, Fail: 0.02, FailTimes: 2, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * ms}},
		{Name: "r3-shared", Scheme: R3, SharesServer: true,
			Knobs: Knobs{Resend: 0.03, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * ms}},
		{Name: "r3-shared-other", Scheme: R3, StoreOf: "r3-shared", SharesServer: true,
			Knobs: Knobs{Resend: 0.01, Prefetch: 10, Channels: 14, Work: Constant, Median: 80 * ms}},
	}
}
