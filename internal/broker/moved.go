package broker

import (
	"context"
	"net/http"
	"net/url"

	"dedup-dashboard/internal/dedup"
)

// maxLookups bounds the queues that one reading asks for by name.
const maxLookups = 20

// findMoved completes a list of several pages. A queue that is deleted while the pages are read moves those behind it up,
// one of them from each page still to come to one that was read, and the list misses it. Left out it would seem deleted
// and then born anew, with all it ever counted as its first events. So queues of the last reading that are missing are
// asked for by name, except those that come and go by design.
//
// It reports whether the list is whole. What is not settled now is asked for at the next reading.
func (l *queueLister) findMoved(ctx context.Context, list *queueList, query url.Values) (whole bool, err error) {
	last := l.lasting
	l.lasting = make(map[dedup.QueueRef]struct{}, len(list.queues))
	asked, open := 0, 0
	for ref := range last {
		if _, there := list.seen[ref]; there || list.pages < 2 {
			continue
		}
		settled := false
		if asked++; asked <= maxLookups {
			if settled, err = l.lookUp(ctx, ref, list, query); err != nil {
				l.lasting = last
				return false, err
			}
		}
		if !settled {
			open++
			l.lasting[ref] = struct{}{}
		}
	}
	for i := range list.queues {
		if q := &list.queues[i]; !q.Exclusive && !q.AutoDelete {
			l.lasting[q.QueueRef] = struct{}{}
		}
	}
	return open == 0, nil
}

// lookUp adds a queue to the list if it is still there. It reports false when the broker gave no clear answer.
func (l *queueLister) lookUp(ctx context.Context, ref dedup.QueueRef, list *queueList, query url.Values) (settled bool, err error) {
	var row queueRow
	err = l.api.getTwice(ctx, APIPath("queues", ref.Vhost, ref.Name), query, &row)
	switch {
	case hasStatus(err, http.StatusNotFound), KindOf(err) == NoPermission:
		return true, nil
	case KindOf(err) == Status:
		return false, nil
	case err != nil:
		return false, err
	case string(row.Vhost) != ref.Vhost || string(row.Name) != ref.Name:
		return false, nil
	}
	list.add(&row)
	return true, nil
}
