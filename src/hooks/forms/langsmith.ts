import { fieldText } from '../../domain/hooks/hookMatch.ts';
import { wrongPayload } from '../hookRefusal.ts';
import { eventOf, type Form } from './form.ts';
import { requireAuthorization } from './signatures.ts';

/**
 * The public platform's webhooks of alerts and of prompts (docs.langchain.com, "Alerts webhook" and "Trigger a webhook on
 * prompt commit"). It signs nothing; the user configures its headers.
 */
export const langsmith: Form = {
  authenticate: requireAuthorization,
  read(payload) {
    const text = (name: string): string => fieldText(payload, name) ?? '';
    if (text('alert_rule_id') !== '') {
      const value = `${text('alert_rule_attribute')} ${text('triggered_metric_value')}`;
      return [
        eventOf({
          identity: ['alert', text('alert_rule_id'), text('timestamp')],
          title: `${text('alert_rule_name') || text('alert_rule_id')} in ${text('project_name')}: ${value}, threshold ${text('triggered_threshold')}`,
          began: text('timestamp'),
          fields: { event: 'alert', ...payload },
        }),
      ];
    }
    if (text('prompt_id') === '' || text('commit_hash') === '')
      throw wrongPayload('it is neither an alert (alert_rule_id) nor a prompt (prompt_id, commit_hash)');
    const event = text('event') || 'commit';
    const tag = text('tag_name');
    const by = text('created_by') === '' ? '' : ` by ${text('created_by')}`;
    return [
      eventOf({
        identity: [event, text('prompt_id'), text('commit_hash'), tag],
        // It does not say when a tag moved.
        moved: tag === '' ? undefined : [text('prompt_id'), tag],
        title: `${event} ${text('commit_hash').slice(0, 12)} of the prompt ${text('prompt_name')}${by}`,
        began: text('created_at'),
        fields: { event, ...payload },
      }),
    ];
  },
};
