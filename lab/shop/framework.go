package shop

import (
	"maps"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A failure is what went wrong with a message, as a consumer's framework would tell it.
type failure struct {
	exception, message string
	trace              []string
	source, event      string
	at                 time.Time
}

// recovered is the message as the republishing recoverer of Spring AMQP sends it to a dead-letter queue
// (org.springframework.amqp.rabbit.retry.RepublishMessageRecoverer).
func recovered(d amqp.Delivery, f fate) amqp.Publishing {
	headers := amqp.Table{}
	for name, value := range d.Headers {
		// The deaths are those of the retry queue; the recoverer's own headers say it all.
		if name != "x-death" && !strings.HasPrefix(name, "x-first-death-") {
			headers[name] = value
		}
	}
	maps.Copy(headers, springHeaders(f.failure(copyOf(d).id, time.Now())))
	return amqp.Publishing{
		Headers: headers, ContentType: d.ContentType, DeliveryMode: amqp.Persistent, MessageId: d.MessageId, Timestamp: d.Timestamp,
		Type: d.Type, AppId: d.AppId, Body: d.Body,
	}
}

// failure draws what is wrong with a message.
func (f fate) failure(id string, at time.Time) failure {
	kinds := []failure{
		{exception: "java.net.SocketTimeoutException", message: "Read timed out after 5000 ms calling https://tax.example.org/v2/rates",
			trace: []string{"java.base/sun.nio.ch.NioSocketImpl.timedRead(NioSocketImpl.java:288)", "org.example.shop.tax.TaxClient.rates(TaxClient.java:61)", "org.example.shop.Worker.onMessage(Worker.java:48)"}},
		{exception: "org.springframework.dao.DataIntegrityViolationException", message: "could not execute statement; constraint [fk_invoice_customer]",
			trace: []string{"org.hibernate.exception.internal.SQLStateConversionDelegate.convert(SQLStateConversionDelegate.java:97)", "org.example.shop.Worker.onMessage(Worker.java:52)"}},
		{exception: "java.lang.IllegalArgumentException", message: "no tax rate for country 'XK'",
			trace: []string{"org.example.shop.tax.Rates.of(Rates.java:33)", "org.example.shop.Worker.onMessage(Worker.java:47)"}},
	}
	// Most trouble of a day has one cause.
	chosen := kinds[max(0, f.draw("failure", id, 0).IntN(5)-2)]
	chosen.source, chosen.event, chosen.at = f.config.Name, eventOf(f.config.Name), at
	return chosen
}

func springHeaders(f failure) amqp.Table {
	return amqp.Table{
		"x-exception-message": f.message,
		// Spring wraps what a listener throws.
		"x-exception-stacktrace": "org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: Listener threw exception\n" +
			"\tat org.springframework.amqp.rabbit.listener.adapter.MessagingMessageListenerAdapter.onMessage(MessagingMessageListenerAdapter.java:152)\n" +
			"Caused by: " + f.exception + ": " + f.message + "\n\tat " + strings.Join(f.trace, "\n\tat "),
		"x-original-exchange": "", "x-original-routingKey": f.source,
	}
}

// massTransitHeaders are those of MassTransit's move to an error queue.
func massTransitHeaders(f failure) amqp.Table {
	return amqp.Table{
		"MT-Reason": "fault", "MT-Fault-ExceptionType": f.exception, "MT-Fault-Message": f.message,
		"MT-Fault-StackTrace": "   at " + strings.Join(f.trace, "\n   at "), "MT-Fault-Timestamp": f.at.UTC().Format("2006-01-02T15:04:05.0000000Z"),
		"MT-Fault-InputAddress": "rabbitmq://localhost/" + f.source, "MT-Fault-ConsumerType": "Shop.Refunds.RefundConsumer",
		"MT-Fault-MessageType": "Shop.Contracts.RefundRequested", "MT-Host-MachineName": "refunds-7c9d", "MT-Fault-RetryCount": int32(3),
	}
}

// nserviceBusHeaders are those that NServiceBus gives a message on its way to the error queue.
func nserviceBusHeaders(f failure) amqp.Table {
	return amqp.Table{
		"NServiceBus.ExceptionInfo.ExceptionType": f.exception, "NServiceBus.ExceptionInfo.Message": f.message,
		"NServiceBus.ExceptionInfo.Source":     "Shop.Inventory",
		"NServiceBus.ExceptionInfo.StackTrace": f.exception + ": " + f.message + "\n   at " + strings.Join(f.trace, "\n   at "),
		"NServiceBus.FailedQ":                  f.source, "NServiceBus.TimeOfFailure": f.at.UTC().Format("2006-01-02 15:04:05:000000 Z"),
		"NServiceBus.EnclosedMessageTypes": "Shop.Contracts.StockReserved, Shop.Contracts", "NServiceBus.ProcessingEndpoint": "Shop.Inventory",
	}
}

// celeryHeaders are those of protocol 2 of Celery, which say what was called and how often but not what went wrong.
func celeryHeaders(f failure, id string) amqp.Table {
	return amqp.Table{
		"lang": "py", "task": "shop.tasks.push", "id": id, "root_id": id, "parent_id": nil, "group": nil, "retries": int32(2),
		"eta": nil, "expires": nil, "argsrepr": "('" + id + "',)", "kwargsrepr": "{}", "origin": "gen17@push-5d7f", "shadow": nil,
		"timelimit": []any{nil, nil},
	}
}
