package list

import (
	"strconv"

	"dedup-dashboard/web/templates"
)

// Pages says which page of a list is shown.
type Pages struct {
	// Number is the page, from 1 on, Of how many there are, and First the index of its first item.
	Number, Of, First int
	// Note says that a page was asked for that there is not; empty when there is.
	Note string
}

// Cut returns a page of the items, the last one where there is no such page.
func Cut[T any](items []T, size, asked int) ([]T, Pages) {
	p := Pages{Of: max(1, (len(items)+size-1)/size)}
	p.Number = min(max(asked, 1), p.Of)
	p.First = (p.Number - 1) * size
	if asked > p.Of {
		p.Note = "There is no page " + strconv.Itoa(asked) + ": this is the last, page " + strconv.Itoa(p.Of) + "."
	}
	return Page(items, size, p.Number), p
}

// Page returns a page of the items; none where there is no such page.
func Page[T any](items []T, size, number int) []T {
	from := min((number-1)*size, len(items))
	return items[from:min(from+size, len(items))]
}

// Map makes something of each item; of none it is empty and not nil, so that JSON says [].
func Map[T, U any](items []T, of func(T) U) []U {
	out := make([]U, len(items))
	for i, item := range items {
		out[i] = of(item)
	}
	return out
}

// Numbered are the addresses of the pages of a path that takes nothing but their number.
func Numbered(path string) func(page int) string {
	return func(page int) string { return path + "?page=" + strconv.Itoa(page) }
}

// Links lead to every page.
func (p Pages) Links(address func(page int) string) []templates.PageLink {
	return p.Near(p.Of, address)
}

// Near lead to the first page, the last, and those at most so far from this one.
func (p Pages) Near(far int, address func(page int) string) []templates.PageLink {
	var links []templates.PageLink
	for n := 1; n <= p.Of; n++ {
		if n == 1 || n == p.Of || n >= p.Number-far && n <= p.Number+far {
			links = append(links, templates.PageLink{Label: strconv.Itoa(n), Href: address(n), Current: n == p.Number})
		}
	}
	return links
}

// Beside leads to the pages before and after this one; empty where there is none.
func (p Pages) Beside(address func(page int) string) (before, after string) {
	if p.Number > 1 {
		before = address(p.Number - 1)
	}
	if p.Number < p.Of {
		after = address(p.Number + 1)
	}
	return before, after
}
