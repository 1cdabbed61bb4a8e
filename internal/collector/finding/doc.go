// Package finding holds the hazards seen in samples of brokers, queues, stores and schemes: each is a pure function of what was sampled.
package finding
