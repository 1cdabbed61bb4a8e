package dialect

import (
	"database/sql"
	"fmt"
	"strconv"
	"time"
)

// A cell takes one value of an answer as bytes in a buffer of its own, as sql.RawBytes does; but an empty text is empty there,
// and nil is NULL alone. Of a driver that answers with strings, as pgx does, sql.RawBytes makes nil of an empty text as long as
// the answer had no other text.
type cell struct {
	value  *sql.RawBytes
	buffer []byte
}

// Cells returns the values of a row, which are valid until the next row is scanned into the other.
func Cells(n int) (values []sql.RawBytes, into []any) {
	values, into = make([]sql.RawBytes, n), make([]any, n)
	for i := range values {
		into[i] = &cell{value: &values[i], buffer: make([]byte, 0, 32)}
	}
	return values, into
}

// Scan takes a value of a driver.
func (c *cell) Scan(src any) error {
	b := c.buffer[:0]
	switch v := src.(type) {
	case nil:
		*c.value = nil
		return nil
	case []byte:
		b = append(b, v...)
	case string:
		b = append(b, v...)
	case int64:
		b = strconv.AppendInt(b, v, 10)
	case uint64:
		b = strconv.AppendUint(b, v, 10)
	case float32:
		b = strconv.AppendFloat(b, float64(v), 'g', -1, 32)
	case float64:
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	case bool:
		b = strconv.AppendBool(b, v)
	case time.Time:
		b = v.AppendFormat(b, time.RFC3339Nano)
	default:
		return fmt.Errorf("the driver gives a %T", src)
	}
	c.buffer, *c.value = b, b
	return nil
}
