// Command watermill prints what a router of Watermill exports of 40 messages, of which each tenth is returned once: it made ../watermill.txt.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/components/metrics"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	const messages, each = 40, 10
	registry := prometheus.NewRegistry()
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	metrics.NewPrometheusMetricsBuilder(registry, "", "").AddPrometheusRouterMetrics(router)
	channel := gochannel.NewGoChannel(gochannel.Config{OutputChannelBuffer: messages}, watermill.NopLogger{})
	var tried atomic.Int64
	done := make(chan struct{}, messages)
	router.AddNoPublisherHandler("orders", "orders", channel, func(m *message.Message) error {
		if tried.Add(1)%each == 0 {
			return errors.New("not now")
		}
		done <- struct{}{}
		return nil
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go func() { _ = router.Run(ctx) }()
	<-router.Running()
	for range messages {
		if err := channel.Publish("orders", message.NewMessage(watermill.NewUUID(), nil)); err != nil {
			return err
		}
	}
	for range messages {
		<-done
	}
	time.Sleep(time.Second) // the counters follow the acks
	families, err := registry.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(os.Stdout, f); err != nil {
			return err
		}
	}
	return nil
}
