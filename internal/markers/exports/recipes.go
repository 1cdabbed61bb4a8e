package exports

// A recipe says which series of a framework tell what. Its fields are expressions (see expr): all that they name are counters.
type recipe struct {
	// Framework is what people call it.
	Framework string
	// Handled counts the deliveries whose handler ended well, Failed the other ones: whether those are acked is left open.
	Handled, Failed string
	// Duplicates counts those of Handled whose work had been done before; empty where the framework does not tell.
	Duplicates string
	// Ack and Work are the names of distributions without _bucket, _sum and _count: from the arrival of a delivery to its ack, and of
	// the work alone. With Milliseconds they are in those, else in seconds.
	Ack, Work    string
	Milliseconds bool
	// QueueLabels hold the name of the queue: the first that a series has counts. QueueForm is how they write it.
	QueueLabels []string
	QueueForm   queueForm
	// Tried says where the series were seen.
	Tried string
}

// A queueForm is how a label writes the name of a queue.
type queueForm string

const (
	asIs queueForm = ""
	// underscored writes every other character than letters and digits as an underscore.
	underscored queueForm = "underscored"
	// lastPart is what follows the last colon, as in exchange:routing key:queue.
	lastPart queueForm = "last_part"
	// lastSegment is what follows the last slash of an address.
	lastSegment queueForm = "last_segment"
)

const (
	recorded    = "recorded from the library"
	constructed = "taken from the library's source"
)

// recipes are the frameworks that are known, by their name in the configuration.
var recipes = map[string]recipe{
	// The timer is on by default under Spring Boot; an observation takes its place where observationEnabled is set.
	"spring-rabbit": {
		Framework: "Spring AMQP",
		Handled: `spring_rabbitmq_listener_seconds_count{result="success"}` +
			` or spring_rabbit_listener_seconds_count{error="none"}`,
		Failed: `spring_rabbitmq_listener_seconds_count{result="failure"}` +
			` or spring_rabbit_listener_seconds_count{error!="none"}`,
		Work:        `spring_rabbitmq_listener_seconds{result="success"} or spring_rabbit_listener_seconds{error="none"}`,
		QueueLabels: []string{"queue", "messaging_destination_name"}, Tried: constructed,
	},
	// receive.duration runs from the callback of the client to after basic.ack. Faults go to the queue _error, and are acked.
	"masstransit": {
		Framework: "MassTransit",
		Handled: `messaging_masstransit_receive_ea_total - messaging_masstransit_receive_errors_ea_total` +
			` or messaging_masstransit_receive_total - messaging_masstransit_receive_errors_total`,
		Failed:       `messaging_masstransit_receive_errors_ea_total or messaging_masstransit_receive_errors_total`,
		Ack:          `messaging_masstransit_receive_duration_milliseconds or messaging_masstransit_receive_duration_ms or messaging_masstransit_receive_duration`,
		Work:         `messaging_masstransit_consume_duration_milliseconds or messaging_masstransit_consume_duration_ms or messaging_masstransit_consume_duration`,
		Milliseconds: true, QueueLabels: []string{"messaging_masstransit_destination"}, QueueForm: underscored, Tried: constructed,
	},
	// What the outbox knows is fetched and neither fails nor has a processing time.
	"nservicebus": {
		Framework: "NServiceBus 9.1",
		Handled:   `nservicebus_messaging_fetches_total - nservicebus_messaging_failures_total`,
		Failed:    `nservicebus_messaging_failures_total`,
		Duplicates: `nservicebus_outbox_duplicates_total` +
			` or nservicebus_messaging_fetches_total - nservicebus_messaging_failures_total - nservicebus_messaging_processing_time_seconds_count`,
		Work:        `nservicebus_messaging_processing_time_seconds`,
		QueueLabels: []string{"nservicebus_queue"}, Tried: constructed,
	},
	// A task that is tried again is published anew, and acked. Workers must send events (worker_send_task_events).
	"celery-exporter": {
		Framework:   "Celery with celery-exporter",
		Handled:     `celery_task_succeeded_total`,
		Failed:      `celery_task_failed_total + celery_task_retried_total + celery_task_rejected_total`,
		Work:        `celery_task_runtime`,
		QueueLabels: []string{"queue_name"}, Tried: recorded,
	},
	"dramatiq": {
		Framework:    "Dramatiq",
		Handled:      `dramatiq_messages_total - dramatiq_message_errors_total`,
		Failed:       `dramatiq_message_errors_total`,
		Work:         `dramatiq_message_duration_milliseconds`,
		Milliseconds: true, QueueLabels: []string{"queue_name"}, Tried: recorded,
	},
	"faststream": {
		Framework:   "FastStream",
		Handled:     `faststream_received_processed_messages_total{status="acked"}`,
		Failed:      `faststream_received_processed_messages_total{status!="acked"}`,
		Work:        `faststream_received_processed_messages_duration_seconds`,
		QueueLabels: []string{"handler"}, Tried: constructed,
	},
	// Its labels name handlers and no queues: give labels.
	"watermill": {
		Framework: "Watermill",
		Handled:   `subscriber_messages_received_total{acked="acked"}`,
		Failed:    `subscriber_messages_received_total{acked="nacked"}`,
		Work:      `handler_execution_time_seconds{success="true"}`,
		Tried:     recorded,
	},
	// The exporter of .NET writes units into names as they were given.
	"wolverine": {
		Framework: "Wolverine",
		Handled:   `wolverine_messages_succeeded_Messages_total or wolverine_messages_succeeded_messages_total or wolverine_messages_succeeded_total`,
		Failed:    `wolverine_execution_failure_Messages_total or wolverine_execution_failure_messages_total or wolverine_execution_failure_total`,
		Work:      `wolverine_execution_time_Milliseconds or wolverine_execution_time_milliseconds or wolverine_execution_time`,
		// The destination is an address, as in rabbitmq://queue/orders.
		Milliseconds: true, QueueLabels: []string{"message_destination"}, QueueForm: lastSegment, Tried: constructed,
	},
	// The conventions of OpenTelemetry are in development. Some clients name the exchange alone: those need labels.
	"otel": {
		Framework:   "OpenTelemetry",
		Handled:     `messaging_process_duration_seconds_count{error_type=""}`,
		Failed:      `messaging_process_duration_seconds_count{error_type!=""}`,
		Work:        `messaging_process_duration_seconds{error_type=""}`,
		QueueLabels: []string{"messaging_destination_name"}, QueueForm: lastPart, Tried: constructed,
	},
}
