package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// A viewer asks the API again and again.
type viewer struct {
	folder, base string
	pipelines    []*pipeline
	late         atomic.Int64 // nanoseconds that this program was woken late at most
}

func (v *viewer) get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", path, a.Status, text)
	}
	return text, err
}

// watch keeps all answers until ctx ends.
func (v *viewer) watch(ctx context.Context) {
	f, err := os.Create(filepath.Join(v.folder, answersFile))
	if err != nil {
		log.Print(err)
		return
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	defer z.Close()
	go v.measureWaking(ctx)
	for enc := json.NewEncoder(z); sleep(ctx, 5*time.Second); {
		if err := v.ask(ctx, enc); err != nil {
			log.Print(err)
		}
	}
}

// ask writes down how busy the machine is, and what is said of each pipeline.
func (v *viewer) ask(ctx context.Context, enc *json.Encoder) error {
	load, _ := os.ReadFile("/proc/loadavg") // elsewhere than on Linux there is none
	if err := enc.Encode(answer{At: now(), Load: string(bytes.TrimSpace(load)), Late: time.Duration(v.late.Swap(0)).Seconds()}); err != nil {
		return err
	}
	for _, p := range v.pipelines {
		text, err := v.get(ctx, "/api/v1/pipelines/"+p.name)
		if err != nil {
			if ctx.Err() == nil {
				log.Print(err)
			}
			continue
		}
		if err := enc.Encode(answer{At: now(), Name: p.name, Body: text}); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// measureWaking finds out how late this program is woken: figures are as late then.
func (v *viewer) measureWaking(ctx context.Context) {
	const nap = 10 * time.Millisecond
	for began := time.Now(); sleep(ctx, nap); began = time.Now() {
		if late := int64(time.Since(began) - nap); late > v.late.Load() {
			v.late.Store(late)
		}
	}
}

// pages keeps what the pages show.
func (v *viewer) pages(ctx context.Context, when string) {
	paths := map[string]string{"overview": "/"}
	for _, p := range v.pipelines {
		paths[p.name] = "/pipelines/" + p.name
	}
	for name, path := range paths {
		text, err := v.get(ctx, path)
		if err == nil {
			err = os.WriteFile(filepath.Join(v.folder, "page-"+when+"-"+name+".html"), text, 0o600)
		}
		if err != nil {
			log.Print(err)
		}
	}
}
