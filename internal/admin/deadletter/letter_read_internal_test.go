package deadletter

import (
	"maps"
	"testing"

	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

func TestExceptionsAreReadFromTheHeadersOfFrameworks(t *testing.T) {
	for name, c := range map[string]struct {
		headers       map[string]any
		body, typ     string
		kind, failure string
	}{
		"Spring AMQP": {
			headers: map[string]any{"x-exception-message": "out of stock", "x-exception-stacktrace": "org.shop.StockException: out of stock\n\tat org.shop.A.b(A.java:1)"},
			kind:    "org.shop.StockException", failure: "out of stock",
		},
		"Spring AMQP wraps the cause": {
			headers: map[string]any{"x-exception-stacktrace": "org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: Listener threw exception\n\tat x"},
			kind:    "org.springframework.amqp.rabbit.support.ListenerExecutionFailedException",
			failure: "org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: Listener threw exception",
		},
		"Spring Cloud Stream": {headers: map[string]any{"x-exception-fqcn": "java.io.IOException", "x-exception-message": "gone"}, kind: "java.io.IOException", failure: "gone"},
		"MassTransit":         {headers: map[string]any{"MT-Fault-ExceptionType": "System.TimeoutException", "MT-Fault-Message": "late"}, kind: "System.TimeoutException", failure: "late"},
		"NServiceBus":         {headers: map[string]any{"NServiceBus.ExceptionInfo.ExceptionType": "System.Exception", "NServiceBus.ExceptionInfo.Message": "broken"}, kind: "System.Exception", failure: "broken"},
		"Rebus": {
			headers: map[string]any{"rbs2-error-details": "1 unhandled exceptions: 11/21/2026: System.InvalidOperationException: no\r\n at x"},
			kind:    "System.InvalidOperationException", failure: "1 unhandled exceptions: 11/21/2026: System.InvalidOperationException: no",
		},
		"EasyNetQ": {
			typ: "EasyNetQ.SystemMessages.Error:EasyNetQ", body: `{"Exception":"System.Exception: boom\n at x","Message":"{}"}`,
			kind: "System.Exception", failure: "System.Exception: boom",
		},
		"by hand":              {headers: map[string]any{"error": []byte("ValueError: bad amount"), "error_message": "bad amount"}, kind: "ValueError", failure: "bad amount"},
		"only a text":          {headers: map[string]any{"x-error": "nobody knows"}, failure: "nobody knows"},
		"a table is no text":   {headers: map[string]any{"exception": map[string]any{"a": 1}}},
		"nothing":              {},
		"a hostile long trace": {headers: map[string]any{"exception": string(make([]byte, 1<<20))}, failure: string(make([]byte, longestFailure)) + "…"},
	} {
		m := message.Message{Body: []byte(c.body)}
		m.Headers, m.Type = c.headers, c.typ
		kind, failure := exceptionOf(m)
		if kind != c.kind || failure != c.failure {
			t.Errorf("%s: %q, %.80q", name, kind, failure)
		}
	}
}

func TestTheTargetIsTheSourceQueueThatTheMessageDiedInLast(t *testing.T) {
	l := Queue{Pipeline: dedup.Pipeline{Queues: []string{"orders", "orders.slow"}}, Homes: map[string]string{"payments": "payments", "orders.wait": "orders"}}
	l.Dead.Name = "orders.dead"
	for name, c := range map[string]struct {
		deaths []message.Death
		target string
	}{
		"the newest death":                     {[]message.Death{{Queue: "orders"}, {Queue: "orders.slow"}}, "orders"},
		"a delay queue is passed over":         {[]message.Death{{Queue: "orders.retry"}, {Queue: "orders.slow"}}, "orders.slow"},
		"a queue of a pipeline that shares it": {[]message.Death{{Queue: "payments"}}, "payments"},
		"a delay queue that leads to it":       {[]message.Death{{Queue: "orders.wait"}}, "orders.wait"},
		"a queue that leads nowhere near":      {[]message.Death{{Queue: "treasury.commands"}}, ""},
		"and before that in one that shares":   {[]message.Death{{Queue: "treasury.commands"}, {Queue: "payments"}}, "payments"},
		"no death":                             {nil, ""},
		"it died in the dead-letter queue":     {[]message.Death{{Queue: "orders.dead"}}, ""},
		"and before that in a source queue":    {[]message.Death{{Queue: "orders.dead"}, {Queue: "orders"}}, "orders"},
		"a death without a queue says nothing": {[]message.Death{{Reason: "rejected"}}, ""},
	} {
		target, why := l.targetOf(dedup.DeadLetter{Deaths: c.deaths})
		if target != c.target || (target == "") != (why != "") {
			t.Errorf("%s: %q, %q", name, target, why)
		}
	}
}

func TestALetterWithoutADeathGoesToTheOnlyQueueThatItCanHaveComeFrom(t *testing.T) {
	ids, err := message.ParseIDSource("message_id")
	if err != nil {
		t.Fatal(err)
	}
	published := message.Message{Properties: message.Properties{MessageID: "m-1"}}
	l := Queue{Pipeline: dedup.Pipeline{Queues: []string{"invoices"}}, IDs: ids, sole: true}
	if got := l.read(published); got.Target != "invoices" || got.NoTarget != "" || got.TargetNote == "" {
		t.Errorf("to %q, %q, %q", got.Target, got.NoTarget, got.TargetNote)
	}
	malformed := published
	malformed.Headers = map[string]any{message.HeaderDeaths: []any{int64(1), "a"}}
	if got := l.read(malformed); got.Target != "" || got.NoTarget == "" {
		t.Errorf("with a malformed history to %q, %q", got.Target, got.NoTarget)
	}
	l.sole = false // another pipeline has the queue too, or there are two source queues
	if got := l.read(published); got.Target != "" || got.NoTarget == "" {
		t.Errorf("with a choice to %q, %q", got.Target, got.NoTarget)
	}
}

func TestChoicesByClass(t *testing.T) {
	all := preflight.Chosen(nil, true)
	for class, want := range map[preflight.Class]preflight.Choice{
		preflight.ClassRuns: preflight.KeepAsIs, preflight.ClassLastAttempt: preflight.KeepAsIs, preflight.ClassMayRunTwice: preflight.KeepAsIs, preflight.ClassSkipped: preflight.KeepAsIs,
		preflight.ClassSwallowed: preflight.LeaveOut, preflight.ClassPerhapsSwallowed: preflight.LeaveOut, preflight.ClassBlocks: preflight.LeaveOut, preflight.ClassUnknown: preflight.LeaveOut,
	} {
		if all[class] != want {
			t.Errorf("%s: %s by default", class, all[class])
		}
		if got := preflight.Chosen(nil, false)[class]; got != preflight.KeepAsIs {
			t.Errorf("%s: %s where nothing can be left out", class, got)
		}
	}
	if got, _ := preflight.ChoiceOf(preflight.Prediction{Class: preflight.ClassPerhapsSwallowed}, map[preflight.Class]preflight.Choice{preflight.ClassSwallowed: preflight.LeaveOut}, false); got != preflight.LeaveOut {
		t.Errorf("by a plan that does not know the class: %s", got)
	}
	clear := map[preflight.Class]preflight.Choice{preflight.ClassSwallowed: preflight.ClearFirst, preflight.ClassSkipped: preflight.ClearFirst}
	for name, c := range map[string]struct {
		p      preflight.Prediction
		single bool
		want   preflight.Choice
	}{
		"a marker that stands in the way is cleared":       {preflight.Prediction{Class: preflight.ClassSwallowed, ClearFirst: true}, false, preflight.ClearFirst},
		"one that cannot be cleared keeps its message":     {preflight.Prediction{Class: preflight.ClassSwallowed}, false, preflight.LeaveOut},
		"done work is not cleared in bulk":                 {preflight.Prediction{Class: preflight.ClassSkipped, ClearDone: true}, false, preflight.LeaveOut},
		"done work is cleared for one message":             {preflight.Prediction{Class: preflight.ClassSkipped, ClearDone: true}, true, preflight.ClearFirst},
		"a class that nothing is said of is left as it is": {preflight.Prediction{Class: preflight.ClassRuns}, false, preflight.KeepAsIs},
	} {
		got, why := preflight.ChoiceOf(c.p, preflight.Chosen(clear, true), c.single)
		if got != c.want || (got == preflight.LeaveOut) != (why != "") {
			t.Errorf("%s: %s, %q", name, got, why)
		}
	}
}

func TestTheQueuesThatLettersMayBeSentToAreThoseThatLeadToTheirDeadLetterQueue(t *testing.T) {
	at := func(name string) dedup.QueueRef { return dedup.QueueRef{Vhost: "/", Name: name} }
	dead := []dedup.DeadLetterQueue{{QueueRef: at("dead")}}
	route := func(from, to string) dedup.DeadLetterRoute {
		return dedup.DeadLetterRoute{Source: at(from), Target: at(to)}
	}
	snap := &dedup.Snapshot{Pipelines: []dedup.PipelineStatus{
		{
			Pipeline: dedup.Pipeline{Name: "orders", Broker: "main", Vhost: "/", Queues: []string{"orders"}}, DeadLetterQueues: dead,
			DeadLetterRoutes: []dedup.DeadLetterRoute{
				route("orders", "wait"), route("wait", "dead"), route("dead", "wait"), route("orders", "elsewhere"), route("far", "elsewhere"),
				{Source: dedup.QueueRef{Vhost: "other", Name: "stranger"}, Target: at("dead")}, route("", "dead"),
			},
		},
		{Pipeline: dedup.Pipeline{Name: "payments", Broker: "main", Vhost: "/", Queues: []string{"payments"}}, DeadLetterQueues: dead},
		{Pipeline: dedup.Pipeline{Name: "mails", Broker: "main", Vhost: "/", Queues: []string{"mails"}}},
		{Pipeline: dedup.Pipeline{Name: "abroad", Broker: "spare", Vhost: "/", Queues: []string{"abroad"}}, DeadLetterQueues: dead},
	}}
	got := homesOf(snap, "main", at("dead"))
	if want := map[string]string{"orders": "orders", "wait": "orders", "payments": "payments"}; !maps.Equal(got, want) {
		t.Errorf("homes %v, want %v", got, want)
	}
}
