package series

import (
	"fmt"
	"path/filepath"

	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
)

// A passing block reads through mappings of its files that last as long as one query. Through the mappings that a block
// keeps, everything that was ever read stays in our resident memory: the windows of 24 hours alone touch a little of
// each series, which is most of a file. The next query finds the same pages in the cache of the system.
//
// The readers must be opened while the TSDB holds the block, as it does when it makes a querier; then it does not matter
// that the files may be deleted afterwards.
type passing struct{ *tsdb.Block }

// Index maps the index of the block.
func (p passing) Index() (tsdb.IndexReader, error) {
	r, err := index.NewFileReader(filepath.Join(p.Dir(), "index"), index.DecodePostingsRaw)
	if err != nil {
		return nil, fmt.Errorf("open the index of block %s: %w", p, err)
	}
	return r, nil
}

// Chunks maps the samples of the block.
func (p passing) Chunks() (tsdb.ChunkReader, error) {
	r, err := chunks.NewDirReader(filepath.Join(p.Dir(), "chunks"), nil)
	if err != nil {
		return nil, fmt.Errorf("open the samples of block %s: %w", p, err)
	}
	return r, nil
}

// newBlockQuerier reads blocks in passing, and memory as the TSDB does.
func newBlockQuerier(b tsdb.BlockReader, from, to int64) (storage.Querier, error) {
	if block, ok := b.(*tsdb.Block); ok {
		b = passing{block}
	}
	return tsdb.NewBlockQuerier(b, from, to)
}
