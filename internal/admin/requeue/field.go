package requeue

import (
	"errors"
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/message"
)

const (
	// maxShortString is the longest text of a property, and the longest name of a header, in bytes.
	maxShortString = 255
	// maxHeaderFrame is the most bytes of properties and headers: they must fit in one frame, of 131,072 bytes unless a broker is set
	// otherwise (https://www.rabbitmq.com/docs/configure, frame_max). The rest is for fixed fields.
	maxHeaderFrame = 130_000
	// maxDepth is how deep tables and lists may be nested.
	maxDepth = 64
)

// tableSize returns the bytes of a table as AMQP 0-9-1 encodes it, or why it cannot be sent.
func tableSize(table map[string]any) (int, error) { return sizeOfTable(table, 0) }

func sizeOfTable(table map[string]any, depth int) (int, error) {
	size := 4
	for name, v := range table {
		if len(name) > maxShortString {
			return 0, fmt.Errorf("the name of one of its headers has %d bytes, more than AMQP allows", len(name))
		}
		n, err := sizeOfField(v, depth)
		if err != nil {
			return 0, err
		}
		size += 1 + len(name) + n
	}
	return size, nil
}

// sizeOfField returns the bytes of a value with the letter of its type.
func sizeOfField(v any, depth int) (int, error) {
	if depth > maxDepth {
		return 0, fmt.Errorf("its headers are nested more than %d deep", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		return 1, nil
	case bool, int8, uint8:
		return 2, nil
	case int16, uint16:
		return 3, nil
	case int32, uint32:
		return 5, nil
	case int64, time.Time:
		return 9, nil
	case float32:
		return 5, finite(float64(v))
	case float64:
		return 9, finite(v)
	case message.Decimal:
		return 6, nil
	case string:
		return 5 + len(v), nil
	case []byte:
		return 5 + len(v), nil
	case []any:
		return sizeOfList(v, depth+1)
	case map[string]any:
		n, err := sizeOfTable(v, depth+1)
		return 1 + n, err
	}
	return 0, fmt.Errorf("its headers hold a %T, which AMQP does not have", v)
}

func sizeOfList(list []any, depth int) (int, error) {
	size := 5
	for _, v := range list {
		n, err := sizeOfField(v, depth)
		if err != nil {
			return 0, err
		}
		size += n
	}
	return size, nil
}

var errNotFinite = errors.New("its headers hold a number that is not finite: RabbitMQ ends the connection of whoever sends it")

func finite(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return errNotFinite
	}
	return nil
}
