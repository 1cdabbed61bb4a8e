// Package notify delivers notifications to people: one file for each type of channel, over one hardened HTTP client and one mailer.
//
// A channel tries once. Whether and when to try again is for the outbox, which reads it off the *alerts.DeliveryError. What a channel
// says is decided in text.go for all of them alike; a channel adds its own markup, after it has escaped the words for it.
package notify
