package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// What Java's ObjectOutputStream writes (Java Object Serialization Specification, chapter 6): a magic number and version,
// then a type code. A string is its length in two bytes, or eight if it is long, and its modified UTF-8. A boxed number
// is the description of its class, always the same bytes for one class, and the number, big-endian.
const (
	javaStream     = "\xac\xed\x00\x05"
	javaString     = javaStream + "t"
	javaLongString = javaStream + "|"

	javaNumber  = "x" + "r\x00\x10java.lang.Number\x86\xac\x95\x1d\x0b\x94\xe0\x8b\x02\x00\x00" + "xp"
	javaLong    = javaStream + "sr\x00\x0ejava.lang.Long\x3b\x8b\xe4\x90\xcc\x8f\x23\xdf\x02\x00\x01J\x00\x05value" + javaNumber
	javaInteger = javaStream + "sr\x00\x11java.lang.Integer\x12\xe2\xa0\xa4\xf7\x81\x87\x38\x02\x00\x01I\x00\x05value" + javaNumber
	javaBoolean = javaStream + "sr\x00\x11java.lang.Boolean\xcd\x20\x72\x80\xd5\x9c\xfa\xee\x02\x00\x01Z\x00\x05value" + "xp"
)

// javaText returns a serialised string, number or truth value as text.
func javaText(value string) (string, error) {
	if number, ok := strings.CutPrefix(value, javaLong); ok && len(number) == 8 {
		return strconv.FormatInt(int64(binary.BigEndian.Uint64([]byte(number))), 10), nil
	}
	if number, ok := strings.CutPrefix(value, javaInteger); ok && len(number) == 4 {
		return strconv.FormatInt(int64(int32(binary.BigEndian.Uint32([]byte(number)))), 10), nil
	}
	if truth, ok := strings.CutPrefix(value, javaBoolean); ok && len(truth) == 1 {
		return strconv.FormatBool(truth[0] != 0), nil
	}
	if text, ok := strings.CutPrefix(value, javaLongString); ok && len(text) >= 8 {
		return javaChars(text[8:], binary.BigEndian.Uint64([]byte(text[:8])))
	}
	if text, ok := strings.CutPrefix(value, javaString); ok && len(text) >= 2 {
		return javaChars(text[2:], uint64(binary.BigEndian.Uint16([]byte(text[:2]))))
	}
	if strings.HasPrefix(value, javaStream) {
		return "", errors.New("a serialised Java object that is no string, Long, Integer or Boolean")
	}
	return "", errors.New("not written by Java's serialiser")
}

func javaChars(text string, size uint64) (string, error) {
	switch have := uint64(len(text)); {
	case have < size && len(text) > ValueBytes/2:
		return "", fmt.Errorf("a Java string of %d bytes, too long for a state", size)
	case have != size:
		return "", fmt.Errorf("a Java string that says it has %d bytes and has %d", size, have)
	}
	plain, ok := fromModified(text)
	if !ok {
		return "", errors.New("a Java string that is not modified UTF-8")
	}
	return plain, nil
}

// JavaKey returns the string that a key is the serialised form of.
func JavaKey(key string) (string, bool) {
	text, ok := strings.CutPrefix(key, javaString)
	if !ok || len(text) < 2 || int(binary.BigEndian.Uint16([]byte(text[:2]))) != len(text)-2 {
		return "", false
	}
	return fromModified(text[2:])
}

// ToJavaKey is the inverse of JavaKey; a key too long for two bytes of length has none.
func ToJavaKey(plain string) (string, bool) {
	text := toModified(plain)
	if len(text) > math.MaxUint16 {
		return "", false
	}
	return javaString + string(binary.BigEndian.AppendUint16(nil, uint16(len(text)))) + text, true
}

// fromModified decodes modified UTF-8 (java.io.DataInput): NUL takes two bytes and a character beyond the basic plane is
// two surrogates of three bytes each. Text that was not encoded so is refused: it would not come back the same.
func fromModified(text string) (string, bool) {
	if !strings.Contains(text, "\x00") && utf8.ValidString(text) {
		return text, short(text)
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		unit, size := modifiedUnit(text[i:])
		if size == 0 {
			return "", false
		}
		i += size
		if utf16.IsSurrogate(unit) {
			low, more := modifiedUnit(text[i:])
			if unit = utf16.DecodeRune(unit, low); unit == utf8.RuneError {
				return "", false
			}
			i += more
		}
		b.WriteRune(unit)
	}
	plain := b.String()
	return plain, toModified(plain) == text
}

// short reports whether valid UTF-8 has no character of four bytes, which modified UTF-8 does not know.
func short(text string) bool {
	for i := range len(text) {
		if text[i] >= 0xf0 {
			return false
		}
	}
	return true
}

// modifiedUnit decodes one UTF-16 unit and returns the number of its bytes, 0 where there is none.
func modifiedUnit(text string) (rune, int) {
	continued := func(i int) bool { return i < len(text) && text[i]&0xc0 == 0x80 }
	switch {
	case text == "" || text[0] == 0:
	case text[0] < 0x80:
		return rune(text[0]), 1
	case text[0]&0xe0 == 0xc0 && continued(1):
		return rune(text[0]&0x1f)<<6 | rune(text[1]&0x3f), 2
	case text[0]&0xf0 == 0xe0 && continued(1) && continued(2):
		return rune(text[0]&0x0f)<<12 | rune(text[1]&0x3f)<<6 | rune(text[2]&0x3f), 3
	}
	return 0, 0
}

func toModified(plain string) string {
	if !strings.Contains(plain, "\x00") && short(plain) {
		return plain
	}
	var b []byte
	for _, r := range plain {
		switch high, low := utf16.EncodeRune(r); {
		case r == 0:
			b = append(b, 0xc0, 0x80)
		case high != utf8.RuneError:
			for _, unit := range []rune{high, low} {
				b = append(b, 0xe0|byte(unit>>12), 0x80|byte(unit>>6)&0x3f, 0x80|byte(unit)&0x3f)
			}
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

// JavaPattern returns the pattern of raw keys for a pattern of plain keys: a header and a length of two bytes stand in front.
func JavaPattern(pattern string) string { return javaString + "??" + toModified(pattern) }
