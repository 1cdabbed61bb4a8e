package overview

import (
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// brokerCard is one broker at a glance.
func brokerCard(b *dedup.BrokerStatus, now time.Time) templates.SourceCard {
	word, tier := show.SourceWord(b.Health)
	c := templates.SourceCard{
		Kind: "broker", Name: show.Name(b.Name), Word: word, Tier: tier,
		What: show.Name(product(b.Info.Version)),
	}
	if !b.Health.OK {
		if b.Health.Tried {
			c.Word = show.UnreachableSince(show.LostSince(b.Health), now)
			c.Problems = append(c.Problems, unreachable(b.Health, now))
		}
		return c
	}
	add := func(label, value string) { c.Facts = append(c.Facts, templates.Fact{Label: label, Value: value}) }
	down, alarms, partitions := nodeTrouble(b.State.Nodes)
	nodes := "unknown"
	if b.State.Nodes != nil {
		nodes = templates.Number(len(b.State.Nodes)-len(down)) + " of " + templates.Number(len(b.State.Nodes))
	}
	add("Nodes running", nodes)
	add("Queues", optional(b.Queues))
	if b.State.Nodes != nil {
		add("Alarms", templates.Number(len(alarms)))
	}
	if b.Deaths != nil {
		add("Dead letters by reason", show.DeathsFact(b.Deaths))
	}
	if len(down) == 0 || b.Deaths == nil || b.Deaths.Discarded.Known() {
		c.Problems = append(c.Problems, show.DeathsProblem(b.Deaths)...)
	}
	c.Problems = append(c.Problems, troubles(alarms, "severe", "Publishers are blocked until it is cleared.")...)
	c.Problems = append(c.Problems, troubles(down, "severe", "Until it is back counters and depths are those of the others. Start it again, or remove it with rabbitmqctl forget_cluster_node.")...)
	c.Problems = append(c.Problems, troubles(partitions, "emergency", "Both sides accept messages on their own: choose one and restart the other.")...)
	c.Problems = append(c.Problems, troubles(queueNames("down: ", b.State.QueuesDown), "severe", "Messages in it cannot be read until its node is back.")...)
	c.Problems = append(c.Problems, troubles(queueNames("without majority: ", b.State.QueuesMinority), "severe", "Bring back its other members.")...)
	for _, p := range b.Problems {
		if len(down) > 0 && p.Kind == "partial_answer" {
			continue // said of each node that is down
		}
		c.Problems = append(c.Problems, templates.Problem{Tier: "warning", Text: templates.Sentence(p.Text), Remedy: templates.Sentence(p.Remedy)})
	}
	return cardWithWorst(c)
}

// storeCard is one store at a glance.
func storeCard(st *dedup.StoreStatus, now time.Time) templates.SourceCard {
	word, tier := show.SourceWord(st.Health)
	health := st.Stats.Health
	c := templates.SourceCard{
		Kind: "store", Name: show.Name(st.Name), Word: word, Tier: tier,
		What: show.Name(strings.TrimSpace(st.Scheme.Preset + " " + health.Version)),
	}
	if !st.Health.OK {
		if st.Health.Tried {
			c.Word = show.UnreachableSince(show.LostSince(st.Health), now)
			c.Problems = append(c.Problems, unreachable(st.Health, now))
		}
		return c
	}
	add := func(label, value string) { c.Facts = append(c.Facts, templates.Fact{Label: label, Value: value}) }
	add("Keys", optional(health.Keys))
	add("Last pass", show.PassText(st.Stats, now))
	if show.UnderWay(st.Stats.Progress) {
		add("Pass under way", show.CoverageText(st.Stats.Progress))
	}
	if health.LatencyP99 > 0 {
		add("Latency p99", templates.Latency(health.LatencyP99.Seconds()))
	}
	if health.MemoryUsed != nil {
		add("Memory", memoryText(health))
	}
	if health.EvictionPolicy != "" {
		add("Eviction", show.ShortName(health.EvictionPolicy))
	}
	c.Problems = append(c.Problems, evictionProblem(health)...)
	return cardWithWorst(c)
}

// foldCalm takes out the stores that answer and have no problem, if there is more than one: what is well must not push
// the pipelines off the screen.
func foldCalm(cards []templates.SourceCard) (loud, calm []templates.SourceCard) {
	for _, c := range cards {
		if c.Tier == dedup.Normal.String() && len(c.Problems) == 0 {
			calm = append(calm, c)
		} else {
			loud = append(loud, c)
		}
	}
	if len(calm) < 2 {
		return cards, nil
	}
	return loud, calm
}

// calmWord names the folded stores, as many as fit a line.
func calmWord(calm []templates.SourceCard) string {
	const most = 6
	var names []string
	for _, c := range calm[:min(len(calm), most)] {
		names = append(names, c.Name.Short)
	}
	text := strings.Join(names, ", ")
	if more := len(calm) - most; more > 0 {
		text += " and " + templates.Number(more) + " more"
	}
	return text
}

// evictionProblem warns when the store may throw markers away, or has done so.
func evictionProblem(h dedup.StoreHealth) []templates.Problem {
	evicted := h.EvictedKeys != nil && *h.EvictedKeys > 0
	if !evicted && !strings.HasPrefix(h.EvictionPolicy, "allkeys") {
		return nil
	}
	text := "The policy " + show.Within(h.EvictionPolicy) + " may evict markers: a message may then be processed twice."
	if evicted {
		text = templates.Number(*h.EvictedKeys) + " keys were evicted; if markers were among them, messages may be processed twice."
	}
	return []templates.Problem{{
		Tier: "warning", Text: templates.Sentence(text),
		Remedy: templates.Sentence("Keep markers in a store of their own with the policy noeviction."),
	}}
}

func memoryText(h dedup.StoreHealth) string {
	text := templates.Bytes(float64(*h.MemoryUsed))
	if h.MemoryMax != nil && *h.MemoryMax > 0 {
		text += " of " + templates.Bytes(float64(*h.MemoryMax))
	}
	return text
}

func product(version string) string {
	if version == "" {
		return "RabbitMQ"
	}
	return "RabbitMQ " + version
}

func unreachable(h dedup.SourceHealth, now time.Time) templates.Problem {
	text := h.Err
	if text == "" {
		text = "It does not answer."
	}
	if !h.LastSuccess.IsZero() {
		text = show.EndSentence(text) + " Last answer " + show.Ago(h.LastSuccess, now) + "."
	}
	if !h.Away.IsZero() {
		text = show.EndSentence(text) + " " + show.AwayText(h.Away, now)
	}
	return show.Problem(dedup.Severe, show.EndSentence(text), "")
}

// nodeTrouble lists nodes that are down, alarms and partitions in words.
func nodeTrouble(nodes []dedup.Node) (down, alarms, partitions []string) {
	for _, n := range nodes {
		if !n.Running {
			down = append(down, "Node "+show.Within(n.Name)+" is down.")
		}
		if n.MemoryAlarm {
			alarms = append(alarms, "Memory alarm on "+show.Within(n.Name)+".")
		}
		if n.DiskAlarm {
			alarms = append(alarms, "Disk alarm on "+show.Within(n.Name)+".")
		}
		if len(n.Partitions) > 0 {
			partitions = append(partitions, "Network partition: "+show.Within(n.Name)+" cannot see "+show.Within(strings.Join(n.Partitions, ", "))+".")
		}
	}
	return down, alarms, partitions
}

// queueNames is one sentence for all queues in a state, so that a lost node does not fill the page.
func queueNames(state string, queues []dedup.QueueRef) []string {
	if len(queues) == 0 {
		return nil
	}
	names := make([]string, 0, 5)
	for _, q := range queues[:min(len(queues), 5)] {
		names = append(names, show.Within(q.Name))
	}
	text := show.Counted(len(queues), "queue") + " " + state + strings.Join(names, ", ")
	if more := len(queues) - len(names); more > 0 {
		text += " and " + templates.Number(more) + " more"
	}
	return []string{text + "."}
}

func troubles(texts []string, tier, remedy string) []templates.Problem {
	var out []templates.Problem
	for _, t := range texts {
		out = append(out, templates.Problem{Tier: tier, Text: templates.Sentence(t), Remedy: templates.Sentence(remedy)})
	}
	return out
}

// cardWithWorst colours a card that answers by the worst of its problems.
func cardWithWorst(c templates.SourceCard) templates.SourceCard {
	worst := dedup.Normal
	for _, p := range c.Problems {
		if t, ok := dedup.ParseTier(p.Tier); ok && t > worst {
			worst = t
		}
	}
	if len(c.Problems) > 0 || c.Tier != dedup.TierUnknown.String() { // a note that keeps a card from being green stays
		c.Tier = worst.String()
	}
	return c
}

// optional writes a number that a source may not give.
func optional(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return templates.Number(*n)
}
