// Package log listens to the log that a RabbitMQ publishes, for the ack timeouts in it.
package log
