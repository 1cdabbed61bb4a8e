// Package message is a message as a broker holds it, without any I/O: its properties and headers, its deaths, its identity and what a requeue marks in it.
package message
