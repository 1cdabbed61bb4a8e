package deadletter

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/message"
)

// springTrace is what RepublishMessageRecoverer writes: the listener's exception, which all failures share, around its causes.
const springTrace = "org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: Listener method 'void shop.Orders.on(Order)' threw exception\n" +
	"\tat org.springframework.amqp.rabbit.listener.adapter.MessagingMessageListenerAdapter.invokeHandler(MessagingMessageListenerAdapter.java:286)\n" +
	"Caused by: org.springframework.dao.TransientDataAccessResourceException: PreparedStatementCallback\n\tat shop.Orders.on(Orders.java:41)\n\t... 14 more\n" +
	"\tSuppressed: java.io.IOException: close\n\tCaused by: java.lang.IllegalStateException: of what was suppressed\n" +
	"Caused by: java.sql.SQLTransientException: gateway timeout\nafter 30 s\n\tat com.mysql.cj.jdbc.Driver.run(Driver.java:7)\n\t... 31 more\n"

func TestTheExceptionOfAJVMIsItsInnermostCause(t *testing.T) {
	for name, c := range map[string]struct {
		headers       map[string]any
		kind, failure string
	}{
		"Spring AMQP": {
			map[string]any{"x-exception-message": "PreparedStatementCallback", "x-exception-stacktrace": springTrace}, "java.sql.SQLTransientException", "gateway timeout",
		},
		"Spring Cloud Stream names the outermost": {
			map[string]any{"x-exception-fqcn": "org.springframework.messaging.MessageHandlingException", "x-exception-message": "failed", "x-exception-stacktrace": []byte(springTrace)},
			"java.sql.SQLTransientException", "gateway timeout",
		},
		"by hand, with the line ends of Windows": {
			map[string]any{"exception": "shop.Outer: a\r\n\tat b\r\nCaused by: shop.OutOfStock: none left\r\n\tat c"}, "shop.OutOfStock", "none left",
		},
		"a cause without a message": {
			map[string]any{"x-exception-message": "what the header says", "x-exception-stacktrace": "a.AException: a\nCaused by: java.lang.NullPointerException\n\tat c"}, "java.lang.NullPointerException", "what the header says",
		},
		"a cause far down": {
			map[string]any{"x-exception-stacktrace": "a.AException: a\n" + strings.Repeat("\tat shop.Deep.call(Deep.java:1)\n", 5000) + "Caused by: b.BException: b"}, "b.BException", "b",
		},
		"a cause that names no class": {
			map[string]any{"x-exception-stacktrace": "a.AException: a\nCaused by: \n\tat c"}, "a.AException", "a.AException: a",
		},
		"the words in a message are no cause": {
			map[string]any{"x-exception-stacktrace": "a.AException: Caused by: b.BException: b\n\tat c"}, "a.AException", "a.AException: Caused by: b.BException: b",
		},
		"only what was suppressed has a cause": {
			map[string]any{"x-exception-stacktrace": "a.AException: a\n\tSuppressed: c.CException\n\tCaused by: b.BException: b"}, "a.AException", "a.AException: a",
		},
	} {
		m := message.Message{}
		m.Headers = c.headers
		if kind, failure := exceptionOf(m); kind != c.kind || failure != c.failure {
			t.Errorf("%s: %q, %.80q", name, kind, failure)
		}
	}
}

func TestFailuresOfOneListenerAreGroupedByTheirCauses(t *testing.T) {
	var letters []Letter
	for _, cause := range []string{"java.sql.SQLTransientException", "shop.OutOfStockException", "java.sql.SQLTransientException"} {
		var l Letter
		l.Headers = map[string]any{"x-exception-stacktrace": "org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: threw\n\tat x\nCaused by: " + cause + ": no\n\tat y"}
		l.Exception, l.Failure = exceptionOf(l.Message)
		letters = append(letters, l)
	}
	groups := GroupLetters(letters, ByException)
	if len(groups) != 2 || groups[0].Value != "java.sql.SQLTransientException" || groups[0].Count != 2 {
		t.Errorf("%+v", groups)
	}
}

func FuzzExceptionOfAnyTrace(f *testing.F) {
	for _, s := range []string{springTrace, "", "Caused by: ", "\nCaused by: a", "a\nCaused by: \xff: b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, trace string) {
		m := message.Message{}
		m.Headers = map[string]any{"x-exception-stacktrace": trace}
		if kind, failure := exceptionOf(m); len(kind) > longestKind+len("…") || len(failure) > longestFailure+len("…") {
			t.Fatalf("%d and %d bytes", len(kind), len(failure))
		}
	})
}
