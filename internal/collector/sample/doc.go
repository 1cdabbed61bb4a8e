// Package sample keeps what brokers and stores told over time, thinned as it ages, without I/O.
package sample
