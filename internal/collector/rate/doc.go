// Package rate estimates duplicate rates from samples of brokers and stores: arithmetic alone, without I/O.
package rate
