package shop

import (
	"errors"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// TestTheMoverMayDoWhatMovingNeedsAndNothingElse asks a real broker: what docs/accounts.md says rests on it.
func TestTheMoverMayDoWhatMovingNeedsAndNothingElse(t *testing.T) {
	ctx := t.Context()
	broker := SharedBroker(t)
	shop := DefaultConfig()
	if err := declareTopology(ctx, broker, shop); err != nil {
		t.Fatal(err)
	}
	accounts := new(access)
	if err := accounts.grantBroker(ctx, broker); err != nil {
		t.Fatal(err)
	}
	connection, err := amqp.Dial(broker.AMQPURL(mover, accounts.moverPassword))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()

	const parking = "dedup.parking.orders"
	publish := func(exchange, key string) func(*amqp.Channel) error {
		return func(c *amqp.Channel) error {
			if err := c.Confirm(false); err != nil {
				return err
			}
			confirmation, err := c.PublishWithDeferredConfirmWithContext(ctx, exchange, key, true, false, amqp.Publishing{Body: []byte("x")})
			if err != nil {
				return err
			}
			// A refusal closes the channel, and a confirmation that never comes then reads as not acked.
			if acked, err := confirmation.WaitContext(ctx); err != nil || !acked {
				return errors.Join(errors.New("not confirmed"), err)
			}
			return nil
		}
	}
	get := func(queue string) func(*amqp.Channel) error {
		return func(c *amqp.Channel) error { _, _, err := c.Get(queue, false); return err }
	}
	consume := func(queue string) func(*amqp.Channel) error {
		return func(c *amqp.Channel) error {
			_, err := c.Consume(queue, "", false, false, false, false, nil)
			return err
		}
	}
	passive := func(queue string) func(*amqp.Channel) error {
		return func(c *amqp.Channel) error {
			_, err := c.QueueDeclarePassive(queue, true, false, false, false, nil)
			return err
		}
	}
	declare := func(queue string, arguments amqp.Table) func(*amqp.Channel) error {
		return func(c *amqp.Channel) error {
			_, err := c.QueueDeclare(queue, true, false, false, false, arguments)
			return err
		}
	}
	for _, tt := range []struct {
		name    string
		do      func(*amqp.Channel) error
		allowed bool
	}{
		{"get from a dead-letter queue", get("orders.dlq"), true},
		{"consume from a quorum dead-letter queue", consume("refunds.dlq"), true},
		{"ask for the depth of a source queue", passive("orders"), true},
		{"publish to a source queue by the default exchange", publish("", "orders"), true},
		{"declare a classic parking queue", declare(parking, amqp.Table{amqp.QueueTypeArg: amqp.QueueTypeClassic}), true},
		{"declare it again", declare(parking, amqp.Table{amqp.QueueTypeArg: amqp.QueueTypeClassic}), true},
		{"declare a quorum parking queue", declare(parking+".quorum", amqp.Table{amqp.QueueTypeArg: amqp.QueueTypeQuorum}), true},
		{"publish to a parking queue by the default exchange", publish("", parking), true},
		{"get from a parking queue", get(parking), true},
		{"consume from a parking queue", consume(parking), true},
		{"delete a parking queue", func(c *amqp.Channel) error { _, err := c.QueueDelete(parking, false, false, false); return err }, true},

		{"get from a source queue", get("orders"), false},
		{"consume from a source queue", consume("orders"), false},
		{"purge a source queue", func(c *amqp.Channel) error { _, err := c.QueuePurge("orders", false); return err }, false},
		{"delete a dead-letter queue", func(c *amqp.Channel) error { _, err := c.QueueDelete("orders.dlq", false, false, false); return err }, false},
		{"declare a queue of another name", declare("orders.copy", nil), false},
		{"declare a parking queue that dead-letters", declare(parking+".leaky", amqp.Table{"x-dead-letter-exchange": "shop.dead"}), false},
		{"publish to another exchange", publish("shop.dead", "shipping"), false},
		{"bind a dead-letter queue elsewhere", func(c *amqp.Channel) error { return c.QueueBind("orders.dlq", "x", "shop.dead", false, nil) }, false},
		{"declare an exchange", func(c *amqp.Channel) error {
			return c.ExchangeDeclare("loyalty.dead", amqp.ExchangeDirect, true, false, false, false, nil)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			channel, err := connection.Channel()
			if err != nil {
				t.Fatal(err)
			}
			defer channel.Close()
			closed := channel.NotifyClose(make(chan *amqp.Error, 1))
			err = tt.do(channel)
			if tt.allowed {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("allowed")
			}
			if refusal := <-closed; refusal == nil || refusal.Code != amqp.AccessRefused {
				t.Errorf("want 403 ACCESS_REFUSED, got %v, %v", err, refusal)
			}
		})
	}
}
