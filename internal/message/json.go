package message

// SkipJSONSpace returns the position of the first byte at or after i that is no white space of JSON.
func SkipJSONSpace[T ~string | ~[]byte](text T, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// SkipJSONString returns the position behind the string of JSON that begins at i.
func SkipJSONString[T ~string | ~[]byte](text T, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// SkipJSON returns the position behind the value of JSON that begins at i; -1 where it is an object or a list without an end. It looks for no
// other mistakes.
func SkipJSON[T ~string | ~[]byte](text T, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = SkipJSONString(text, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			if depth == 0 {
				return skipJSONScalar(text, i)
			}
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

// skipJSONScalar returns the position behind a number, a truth value or null.
func skipJSONScalar[T ~string | ~[]byte](text T, i int) int {
	for i < len(text) {
		switch text[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}
