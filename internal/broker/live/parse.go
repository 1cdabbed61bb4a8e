package live

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"strconv"
)

const (
	detailed = "rabbitmq_detailed_"
	global   = "rabbitmq_global_messages_"
	// maxLine bounds a line; a queue, a vhost and an exchange have at most 255 bytes each.
	maxLine = 8 << 10
	// channelProtocol is the one protocol whose messages rows count; others have counters of their own beside it.
	channelProtocol = "amqp091"
)

// A family is a set of rows.
type family int

const (
	noFamily family = iota
	channelRows
	queueRows
)

// A metric is a counter of rows.
type metric struct {
	family family
	kind   Kind
}

// rowMetrics are the counters of rows by name; those of the same end count the same.
var rowMetrics = map[string]metric{
	"channel_messages_acked_total":            {channelRows, Acked},
	"channel_messages_delivered_ack_total":    {channelRows, Delivered},
	"channel_messages_delivered_total":        {channelRows, DeliveredAuto},
	"channel_get_ack_total":                   {channelRows, Got},
	"channel_get_total":                       {channelRows, GotAuto},
	"channel_messages_redelivered_total":      {channelRows, Redelivered},
	"queue_messages_acked_total":              {queueRows, Acked},
	"queue_messages_delivered_ack_total":      {queueRows, Delivered},
	"queue_messages_delivered_total":          {queueRows, DeliveredAuto},
	"queue_get_ack_total":                     {queueRows, Got},
	"queue_get_total":                         {queueRows, GotAuto},
	"queue_messages_redelivered_total":        {queueRows, Redelivered},
	"queue_exchange_messages_published_total": {queueRows, Published},
}

// totalMetrics are the counters of a node that lose nothing. Redelivered has none that holds: that of 3.10 leaves quorum queues out.
var totalMetrics = map[string]Kind{
	"acknowledged_total":                 Acked,
	"delivered_consume_manual_ack_total": Delivered,
	"delivered_consume_auto_ack_total":   DeliveredAuto,
	"delivered_get_manual_ack_total":     Got,
	"delivered_get_auto_ack_total":       GotAuto,
}

// repaired are the kinds that a node counts as a whole, too.
var repaired = [...]Kind{Acked, Delivered, DeliveredAuto, Got, GotAuto}

// readRows reads an answer of /metrics/detailed into a node that has begun.
func readRows(body io.Reader, into *node) error {
	return eachLine(body, func(line []byte) {
		if rest, ok := bytes.CutPrefix(line, []byte("# TYPE "+detailed)); ok {
			name, _, _ := bytes.Cut(rest, []byte{' '})
			into.announce(rowMetrics[string(name)].family)
			return
		}
		name, labels, value, ok := cutLine(line)
		if !ok {
			into.spoiled(line)
			return
		}
		rest, ours := bytes.CutPrefix(name, []byte(detailed))
		if !ours {
			into.noteNode(name, labels, value)
			return
		}
		if string(rest) == "channel_process_reductions_total" {
			into.channelThere(labels)
			return
		}
		if m, ok := rowMetrics[string(rest)]; ok {
			into.row(m, labels, value)
			return
		}
		into.noteNode(rest, labels, value)
	})
}

// readTotals reads an answer of /metrics; false when a counter is missing or is none.
func readTotals(body io.Reader) (totals Counts, ok bool, err error) {
	var seen Counts
	broken := false
	err = eachLine(body, func(line []byte) {
		if !bytes.HasPrefix(line, []byte(global)) {
			return
		}
		name, labels, value, readable := cutLine(line)
		kind, ours := totalMetrics[string(bytes.TrimPrefix(name, []byte(global)))]
		if !readable || !ours || labelOf(labels, "protocol") != channelProtocol {
			return
		}
		n, counts := wholeCount(value)
		broken = broken || !counts
		totals[kind] = plus(totals[kind], n)
		seen[kind]++
	})
	for _, kind := range repaired {
		broken = broken || seen[kind] == 0
	}
	return totals, !broken, err
}

// eachLine calls with each line that is not empty, and fails where the answer ends within one: every answer ends with a new line.
func eachLine(body io.Reader, each func([]byte)) error {
	scan := bufio.NewReaderSize(body, maxLine)
	for {
		line, err := scan.ReadSlice('\n')
		switch {
		case err == io.EOF && len(line) == 0:
			return nil
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			each(line)
		}
	}
}

// cutLine takes a line apart at the last quote and brace: an unescaped label may hold what looks like its end.
func cutLine(line []byte) (name, labels, value []byte, ok bool) {
	if line[0] == '#' {
		return nil, nil, nil, true
	}
	open, end := bytes.IndexByte(line, '{'), bytes.LastIndex(line, []byte(`"} `))
	if open >= 0 && end > open {
		return line[:open], line[open+1 : end+1], line[end+3:], true
	}
	name, value, ok = bytes.Cut(line, []byte{' '})
	return name, nil, value, ok && open < 0
}

// wholeCount is the value of a counter; false for what counts nothing.
func wholeCount(text []byte) (int64, bool) {
	var n int64
	if len(text) == 0 {
		return 0, false
	}
	for i, c := range text {
		if c < '0' || c > '9' || i == 18 {
			return otherCount(text)
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// otherCount reads what is not written as a whole number, as in 1.2e3.
func otherCount(text []byte) (int64, bool) {
	value, err := strconv.ParseFloat(string(text), 64)
	// Beyond 2^53 a float does not tell neighbours apart.
	if err != nil || !(value >= 0 && value <= 1<<53) || value != math.Trunc(value) {
		return 0, false
	}
	return int64(value), true
}
