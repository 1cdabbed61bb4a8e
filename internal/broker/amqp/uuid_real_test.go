package amqp

import (
	"context"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// keepsUUIDs takes a message whose id is a UUID of AMQP 1.0 and sends it on: its id names the UUID in both directions.
func (b *movingBroker) keepsUUIDs(t *testing.T) {
	if !(dedup.BrokerInfo{Version: b.version}).Since(4, 0) {
		t.Attr("without", "AMQP 1.0 was not tried: it takes a plugin")
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	admin := b.admin(t)
	dead, back := declare(t, admin, "uuid.dead", nil), declare(t, admin, "uuid.back", nil)
	user, password := b.rabbit.Admin()
	connection, err := goamqp.Dial(ctx, "amqp://"+b.rabbit.AMQPAddr(), &goamqp.ConnOptions{SASLType: goamqp.SASLTypePlain(user, password)})
	must(t, err)
	defer connection.Close()
	session, err := connection.NewSession(ctx, nil)
	must(t, err)
	sender, err := session.NewSender(ctx, "/queues/"+dead.Name, nil)
	must(t, err)
	uuid := goamqp.UUID{0x6f, 0x96, 0x19, 0xff, 0x8b, 0x86, 0xd0, 0x11, 0xb4, 0x2d, 0x00, 0xc0, 0x4f, 0xc9, 0x64, 0xff}
	must(t, sender.Send(ctx, &goamqp.Message{Properties: &goamqp.MessageProperties{MessageID: uuid}, Data: [][]byte{[]byte("body")}}, nil))

	source, err := b.mover.Source(ctx, dead, 1, false)
	must(t, err)
	defer source.Close()
	d, err := source.Next(ctx)
	must(t, err)
	if d.MessageID != "urn:uuid:"+uuid.String() || message.BareID(d.MessageID) != uuid.String() {
		t.Errorf("the id of the dead letter is %q, and %q alone, where consumers see %q", d.MessageID, message.BareID(d.MessageID), uuid)
	}
	sink, err := b.mover.Sink(ctx, "/", 1)
	must(t, err)
	defer sink.Close()
	must(t, sink.Publish(ctx, back.Name, d.Message))
	if answer, err := sink.Answer(ctx); err != nil || answer.Outcome != message.Confirmed {
		t.Fatal(answer, err)
	}
	receiver, err := session.NewReceiver(ctx, "/queues/"+back.Name, nil)
	must(t, err)
	again, err := receiver.Receive(ctx, nil)
	must(t, err)
	if got, ok := again.Properties.MessageID.(goamqp.UUID); !ok || got != uuid {
		t.Errorf("consumers get the id %v of type %T, want %v", again.Properties.MessageID, again.Properties.MessageID, uuid)
	}
}
