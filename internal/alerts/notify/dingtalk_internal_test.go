package notify

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/secret"
)

func TestAMessageThatGivesUpWaitingSaysWhetherItsTimeWasOverOrWeWereStopped(t *testing.T) {
	for name, tt := range map[string]struct {
		limit, stop time.Duration
		says, not   string
	}{
		"its time is over": {25 * time.Second, time.Hour, "channel ding: the channel did not answer in time", "stopped"},
		"we are stopped":   {time.Hour, 25 * time.Second, "we were stopped while the message waited", "in time"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opened, err := openDingTalk(Config{Name: "ding", Type: "dingtalk", URL: secret.New("https://ding.example.com/robot/send?access_token=long-token")})
				if err != nil {
					t.Fatal(err)
				}
				robot := opened.(*dingTalk)
				for range dingTalkTrials {
					robot.trials.take(time.Now())
				}
				limited, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				defer time.AfterFunc(tt.stop, cancel).Stop()
				began := time.Now()
				err = robot.Send(limited, alerts.Notification{Kind: alerts.NotifyTest, At: began})
				var refused *alerts.DeliveryError
				if !errors.As(err, &refused) || !refused.Unsent || refused.Permanent || refused.Doubtful || time.Since(began) != 25*time.Second {
					t.Fatalf("after %s: %#v", time.Since(began), err)
				}
				if !strings.Contains(refused.Public, tt.says) || strings.Contains(refused.Public, tt.not) || !strings.Contains(refused.Public, "20 in a minute") {
					t.Errorf("says %q", refused.Public)
				}
			})
		})
	}
}
