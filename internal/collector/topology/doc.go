// Package topology follows dead letters through the queues, exchanges and policies of a broker, and finds what is wrong on their way.
package topology
