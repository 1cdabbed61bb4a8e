package shop

import (
	"encoding/json"
	"fmt"
	"strings"
)

// eventOf is the type of a pipeline's messages.
func eventOf(pipeline string) string {
	switch pipeline {
	case "orders":
		return "order.placed"
	case "payments":
		return "payment.captured"
	case "emails":
		return "email.requested"
	case "inventory":
		return "stock.reserved"
	case "shipping":
		return "parcel.ready"
	case "refunds":
		return "refund.requested"
	case "notifications":
		return "push.requested"
	case "invoices":
		return "invoice.due"
	case "loyalty":
		return "points.earned"
	}
	return pipeline + ".requested"
}

// A payload is the body of a message of any pipeline, with what a body should not show to everybody.
type payload struct {
	ID       string   `json:"id"`
	Event    string   `json:"event"`
	Order    string   `json:"order"`
	Customer customer `json:"customer"`
	Amount   amount   `json:"amount"`
	Items    []item   `json:"items"`
}

type customer struct {
	Number string `json:"number"`
	Name   string `json:"name"`
	Email  string `json:"email"`
}

type amount struct {
	Value    string `json:"value"`
	Currency string `json:"currency"`
}

type item struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// payload draws what a message is about: always the same for the same message.
func (f fate) payload(id string) payload {
	given := []string{"Ada", "Grace", "Edsger", "Barbara", "Leslie", "Radia", "José", "Łucja", "Ngũgĩ", "小明"}
	family := []string{"Novak", "Schmidt", "García", "Okafor", "Jensen", "Rossi", "Tanaka", "O'Neill", "Kowalska", "Duarte"}
	random := f.draw("payload", id, 0)
	first, last := given[random.IntN(len(given))], family[random.IntN(len(family))]
	number := 100_000 + random.IntN(900_000)
	body := payload{
		ID: id, Event: eventOf(f.config.Name), Order: fmt.Sprintf("SO-2026-%06d", random.IntN(1_000_000)),
		Customer: customer{fmt.Sprintf("C-%d", number), first + " " + last, fmt.Sprintf("%s.%d@example.org", mailbox(last), number)},
		Amount:   amount{fmt.Sprintf("%d.%02d", 1+random.IntN(400), random.IntN(100)), []string{"EUR", "USD", "GBP"}[random.IntN(3)]},
	}
	for range 1 + random.IntN(3) {
		body.Items = append(body.Items, item{fmt.Sprintf("SKU-%05d", random.IntN(100_000)), 1 + random.IntN(4)})
	}
	return body
}

// mailbox keeps what every mail system takes.
func mailbox(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// body is the payload as JSON. Strings and whole numbers always have a JSON form, so there is no error.
func (f fate) body(id string) []byte {
	text, _ := json.Marshal(f.payload(id))
	return text
}
