package digest

import (
	"slices"
	"strings"
)

// asks takes a SELECT of the row of one id: no function, no other table, no other condition.
func (p *parser) asks() bool {
	for p.at < len(p.tokens) && !p.isNext("FROM") {
		if t := p.peek(); t.kind == sign && t.text != "," && t.text != "." && t.text != "*" || t.kind == word && (t.text == "DISTINCT" || t.text == "SELECT") {
			return false
		}
		p.at++
	}
	if !p.take("FROM") {
		return false
	}
	if ours, sure := p.ours(); !ours || !sure {
		return false
	}
	if !p.isNext("WHERE") {
		p.take("AS")
		alias, ok := p.identifier()
		if !ok {
			return false
		}
		p.alias = cmpName(alias)
	}
	return p.take("WHERE") && p.byID() && p.tail()
}

// byID takes a condition that names each id column once, and nothing else.
func (p *parser) byID() bool {
	left := slices.Clone(p.table.ID)
	for len(left) > 0 {
		t, ok := p.identifier()
		if ok && p.take(".") {
			if p.alias != cmpName(t) && !p.named(t, p.table.Name, p.table.FoldsNames) {
				return false
			}
			t, ok = p.identifier()
		}
		i := slices.IndexFunc(left, func(c string) bool { return strings.EqualFold(c, cmpName(t)) })
		if !ok || i < 0 || !p.take("=") || p.peek().kind != value {
			return false
		}
		p.at++
		for p.take(":", ":") {
			if _, ok := p.identifier(); !ok {
				return false
			}
		}
		if left = slices.Delete(left, i, i+1); len(left) > 0 && !p.take("AND") {
			return false
		}
	}
	return true
}

// tail takes what may follow the condition.
func (p *parser) tail() bool {
	if p.take("LIMIT") {
		if p.peek().kind != value {
			return false
		}
		p.at++
	}
	for p.take("FOR") || p.take("LOCK") || p.take("IN") || p.take("SHARE") || p.take("MODE") || p.take("UPDATE") ||
		p.take("NO") || p.take("KEY") || p.take("NOWAIT") || p.take("SKIP") || p.take("LOCKED") {
	}
	return p.end()
}
