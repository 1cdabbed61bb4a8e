// Package outbox delivers notifications that the journal keeps, each until its channel took it or it is given up.
package outbox
