package main

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// writeZipped writes a value as JSON into a compressed file.
func writeZipped(path string, v any) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	return errors.Join(json.NewEncoder(z).Encode(v), z.Close(), f.Close())
}

// readZipped takes each value of a compressed file. The file may break off: then a run was cut short.
func readZipped[T any](path string, take func(T) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for d := json.NewDecoder(z); ; {
		var v T
		if err := d.Decode(&v); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := take(v); err != nil {
			return err
		}
	}
}
