package deadletter

import (
	"dedup-dashboard/internal/mask"
	"dedup-dashboard/internal/message"
)

// A deferredBody is the body of a letter of which nobody has asked yet what may be shown. Masking reads every byte of it, and what comes out
// would take as much memory again.
type deferredBody struct {
	mask func(Letter) Letter
	of   *Letter
}

// A Masker shows letters without what is hidden in them.
type Masker struct{ Words *mask.Masker }

// shown returns a letter as everybody may see it.
func (m Masker) shown(l Letter) Letter { return Masked(m.Words, l) }

// WithoutBody returns a letter masked for everybody, and without its body: what filters find in that is masked when one asks. The letter that it
// is made of must not change any more.
func (m Masker) WithoutBody(raw *Letter) Letter {
	bare := *raw
	if raw.Size > message.MaxPeekedBody { // as a look has it, so that a job selects what its plan has counted
		bare.Body = nil
	}
	if !IsErrorEnvelope(raw.Message) { // else what failed is read from the body
		bare.Body = nil
	}
	shown := m.shown(bare)
	shown.Body, shown.Masked, shown.MaskedNames = nil, false, nil
	shown.Hidden = raw.Hidden
	if len(raw.Body) > 0 && raw.Size <= message.MaxPeekedBody {
		shown.deferred = &deferredBody{mask: m.shown, of: raw}
	}
	return shown
}

// scan returns a scan as it is shown: without what is hidden in its letters, and without their bodies.
func (m Masker) scan(s Scan) Scan {
	letters := make([]Letter, len(s.Letters))
	for i := range letters {
		letters[i] = m.WithoutBody(&s.Letters[i])
	}
	s.Letters = letters
	return s
}

// shownBody returns what is shown of the body of a letter.
func (l *Letter) shownBody() []byte {
	if l.deferred == nil {
		return l.Body
	}
	bare := *l.deferred.of
	bare.Headers = nil
	return l.deferred.mask(bare).Body
}
