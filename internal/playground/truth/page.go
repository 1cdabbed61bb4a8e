package truth

// Rewrite replaces the generated table of a page.
func (r Result) Rewrite(path string) error { return nil }
