package deadletter

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/text"
)

const (
	// longestKind and longestFailure bound what is kept of an exception, in bytes; stackHead is how much of a stack trace is read.
	longestKind    = 200
	longestFailure = 500
	stackHead      = 4096
	// longestError is the largest body of an error message that is parsed.
	longestError = 1 << 20
)

// An exceptionRule says in which headers a framework writes why it gave a message up.
type exceptionRule struct {
	// kind holds the type of the exception, failure its message, stack a stack trace that begins with both.
	kind, failure, stack string
}

// exceptionRules are tried in turn; the first that finds anything counts.
func exceptionRules() []exceptionRule {
	return []exceptionRule{
		// Spring AMQP, RepublishMessageRecoverer: the first line of the stack trace begins with the class
		// (https://docs.spring.io/spring-amqp/reference/amqp/resilience-recovering-from-errors-and-broker-failures.html).
		// Spring Cloud Stream adds the class by itself as x-exception-fqcn.
		{kind: "x-exception-fqcn", failure: "x-exception-message", stack: "x-exception-stacktrace"},
		// MassTransit, the queue _error (https://masstransit.io/documentation/concepts/exceptions).
		{kind: "MT-Fault-ExceptionType", failure: "MT-Fault-Message", stack: "MT-Fault-StackTrace"},
		// NServiceBus (https://docs.particular.net/nservicebus/messaging/headers#error-forwarding-headers).
		{kind: "NServiceBus.ExceptionInfo.ExceptionType", failure: "NServiceBus.ExceptionInfo.Message", stack: "NServiceBus.ExceptionInfo.StackTrace"},
		// Rebus writes one text with every attempt (https://github.com/rebus-org/Rebus/wiki/Automatic-retries-and-error-handling).
		{stack: "rbs2-error-details"},
		// What people write by hand. Celery keeps failures in its result backend and none in the message.
		{kind: "exception_type", failure: "exception_message", stack: "exception"},
		{kind: "error_type", failure: "error_message", stack: "error"},
		{failure: "x-error"},
	}
}

// exceptionOf returns the kind of the failure that a framework wrote into a message, and its text; both are empty when none did.
func exceptionOf(m message.Message) (kind, failure string) {
	for _, r := range exceptionRules() {
		kind, failure = r.read(m.Headers)
		if kind != "" || failure != "" {
			return kind, failure
		}
	}
	return easyNetQ(m)
}

func (r exceptionRule) read(headers map[string]any) (kind, failure string) {
	word := func(name string) string {
		if name == "" {
			return ""
		}
		text, _ := HeaderWord(headers[name])
		return text
	}
	stack := word(r.stack)
	kind, failure = word(r.kind), word(r.failure)
	if cause, says := innermostCause(stack); cause != "" {
		kind = cause
		failure = cmp.Or(says, failure)
	}
	if kind == "" {
		kind = kindIn(stack)
	}
	if kind == "" {
		kind = kindIn(failure)
	}
	if failure == "" {
		failure = firstLine(stack)
	}
	return text.Cut(kind, longestKind), text.Cut(firstLine(failure), longestFailure)
}

// className is the name of a class as stack traces of the JVM write it.
var className = regexp.MustCompile(`^[\pL_$][\pL\pN_$]*(?:\.[\pL_$][\pL\pN_$]*)*$`)

// innermostCause returns the class and the message of the last cause in a stack trace of the JVM: listeners wrap every failure in
// the same exception of their framework, and only the innermost one tells failures apart. Causes of the exception itself begin their
// line, those of suppressed ones are indented (https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/lang/Throwable.html#printStackTrace()).
func innermostCause(stack string) (class, text string) {
	const begin = "\nCaused by: "
	i := strings.LastIndex(stack, begin)
	if i < 0 {
		return "", ""
	}
	line, _, _ := strings.Cut(stack[i+len(begin):], "\n")
	class, text, _ = strings.Cut(firstLine(line), ": ")
	if !className.MatchString(class) {
		return "", ""
	}
	return class, text
}

// IsErrorEnvelope reports whether what is sent would be the note of EasyNetQ about a message that failed, with that message inside, and not
// the message: consumers of a queue do not know its type.
func IsErrorEnvelope(m message.Message) bool {
	return strings.HasPrefix(m.Type, "EasyNetQ.SystemMessages.Error")
}

// easyNetQ reads the body of a message of EasyNetQ's error queue, which holds the exception beside the message that failed
// (https://github.com/EasyNetQ/EasyNetQ/wiki/Error-Conditions).
func easyNetQ(m message.Message) (kind, failure string) {
	if !IsErrorEnvelope(m) || len(m.Body) > longestError {
		return "", ""
	}
	var e struct{ Exception string }
	if err := json.Unmarshal(m.Body, &e); err != nil {
		return "", ""
	}
	return text.Cut(kindIn(e.Exception), longestKind), text.Cut(firstLine(e.Exception), longestFailure)
}

// kindPattern finds the name of an exception as Java, .NET, Python, Ruby, Go and JavaScript write it.
var kindPattern = regexp.MustCompile(`(?:[A-Za-z_][A-Za-z0-9_]*(?:\.|::|\+|\$))*[A-Za-z_]?[A-Za-z0-9_]*(?:Exception|Error|Fault|Timeout)\b`)

func kindIn(text string) string {
	return kindPattern.FindString(text[:min(len(text), stackHead)])
}

func firstLine(text string) string {
	text = strings.TrimSpace(text[:min(len(text), stackHead)])
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	return text
}

// MessageType returns the type of a message as lists, groups and filters have it: the property, or the header that frameworks and people
// write instead.
func (l Letter) MessageType() string {
	if l.Type != "" {
		return l.Type
	}
	// Spring AMQP (DefaultJackson2JavaTypeMapper), NServiceBus, Rebus, Celery
	// (https://docs.celeryq.dev/en/stable/internals/protocol.html#version-2), and what is written by hand.
	for _, name := range []string{"__TypeId__", "NServiceBus.EnclosedMessageTypes", "rbs2-msg-type", "task", "type"} {
		if word, _ := HeaderWord(l.Headers[name]); word != "" {
			return text.Cut(word, longestKind)
		}
	}
	return ""
}
