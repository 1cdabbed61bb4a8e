package broker

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"dedup-dashboard/internal/dedup"
)

// A nodeRow is a node of /api/nodes. A node that is down has a name and running: false, little else, and with
// statistics disabled all nodes are like that.
type nodeRow struct {
	Name        word  `json:"name"`
	Running     flag  `json:"running"`
	MemoryAlarm flag  `json:"mem_alarm"`
	DiskAlarm   flag  `json:"disk_free_alarm"`
	Partitions  names `json:"partitions"`
}

func (n *nodeRow) node() dedup.Node {
	return dedup.Node{
		Name: string(n.Name), Running: bool(n.Running),
		MemoryAlarm: bool(n.MemoryAlarm), DiskAlarm: bool(n.DiskAlarm), Partitions: n.Partitions,
	}
}

// An alarmsRow is the answer of /api/health/checks/alarms while there are alarms.
type alarmsRow struct {
	Alarms []object[alarmRow] `json:"alarms"`
}

type alarmRow struct {
	Node     word `json:"node"`
	Resource word `json:"resource"`
}

// readNodes reads the state of all nodes. The alarms of /api/nodes are up to 5 s old and absent with statistics disabled;
// the health check knows them at once, and everywhere.
func (c *Client) readNodes(ctx context.Context) ([]dedup.Node, error) {
	nodes, err := collect(ctx, c.api, "nodes", "", (*nodeRow).node)
	if err != nil {
		return nil, err
	}
	alarms, err := c.readAlarms(ctx)
	if err != nil {
		return nil, err
	}
	for _, alarm := range alarms {
		for i := range nodes {
			if nodes[i].Name == string(alarm.value.Node) {
				nodes[i].MemoryAlarm = nodes[i].MemoryAlarm || alarm.value.Resource == "memory"
				nodes[i].DiskAlarm = nodes[i].DiskAlarm || alarm.value.Resource == "disk"
			}
		}
	}
	return nodes, nil
}

// readAlarms returns the alarms in effect. The check answers 200 when there are none, 503 and a list otherwise.
func (c *Client) readAlarms(ctx context.Context) ([]object[alarmRow], error) {
	err := c.api.get(ctx, APIPath("health", "checks", "alarms"), nil, &ignored{})
	var e *Error
	if !errors.As(err, &e) || e.Status != http.StatusServiceUnavailable {
		return nil, err
	}
	var row alarmsRow
	if json.Unmarshal(e.body, &row) != nil || len(row.Alarms) == 0 {
		return nil, err
	}
	return row.Alarms, nil
}
