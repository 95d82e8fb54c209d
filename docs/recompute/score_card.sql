-- Recompute the scores of ten score cards: what explanations/ says, and then the same numbers from sentences/ and the literals alone.
-- Replace runs/small by the folder of your run.
with term as (
  select layer, unit, pole, fold, kind, items, weight, intercept, threshold from 'runs/small/explanation_folds/*.parquet'
), chosen as (
  select layer, unit, pole, precision, recall, f1 from 'runs/small/explanations/*.parquet'
  where f1 is not null and (layer, unit, pole) in (select (layer, unit, pole) from term group by layer, unit, pole
    having bool_and(kind not in ('subtree', 'hub') and (kind <> 'value' or items[1] = 'dataset')))
  order by f1 desc, layer, unit, pole limit 1
), option as (select unnest(stages.mine.config) from 'runs/small/run.json'
), rule as (  -- a pattern as a regular expression over items with a space between them
  select fold, kind, items, weight, intercept, threshold, if(kind = 'word', word_max_gap, tag_max_gap) as gap,
    ' ([^ ]+ )' || if(gap < 0, '*', '{0,' || gap || '}') as between,
    '(^| )' || list_reduce(list_transform(items, lambda item: regexp_escape(item)), lambda a, b: a || between || b)
      || '( |$)' as regex
  from term join chosen using (layer, unit, pole), option
), winner as (
  select sent_id from 'runs/small/topk/*.parquet' join chosen using (layer, unit, pole)
), sentence as (  -- words in lower case with their tags, and punctuation marks separately
  select sent_id, dataset, fold, sent_id in (from winner) as won, len(words) as length,
    list_zip(list_transform(words, lambda word: lower(word)), tags) as pairs,
    list_filter(pairs, lambda pair: pair[2] in (',', ':', '.', '``', '''''', '-LRB-', '-RRB-', 'HYPH', 'NFP')) as marked,
    list_filter(pairs, lambda pair: not list_contains(marked, pair)) as kept,
    list_transform(marked, lambda pair: pair[1]) as marks,
    list_transform(kept, lambda pair: pair[1]) as kept_words, list_transform(kept, lambda pair: pair[2]) as kept_tags,
  from 'runs/small/sentences/*.parquet' where is_baseline or won
), called as (  -- by the card of the sentence's own fold; a card without literals calls nothing
  select won, round(any_value(intercept) + sum(weight * case kind
    when 'word' then regexp_matches(array_to_string(kept_words, ' '), regex)
    when 'tag' then regexp_matches(array_to_string(kept_tags, ' '), regex)
    when 'mark' then list_has_any(marks, items)
    when 'word_class' then list_has_any(kept_words, items)
    when 'length' then length <= items[1]::int
    else dataset = items[2] end::int), 6) >= any_value(threshold) as is_called
  from sentence join rule using (fold) group by sent_id, won
), counted as (  -- a winner counts 1, and the others represent the rest of the corpus
  select (any_value(n) - (select count(*) from winner)) / (select count(*) from sentence where not won) as each
  from 'runs/small/neurons/*.parquet'
), total as (
  select count(*) filter (won) as hits, (select count(*) from winner) as winners,
    count(*) filter (not won) * any_value(each) + if(any_value(each) > 1, any_value(each) / 2, 0) as false_calls
  from called, counted where is_called
)
select 'the table' as source, precision, recall, f1 from chosen
union all
select 'recomputed', hits / (hits + false_calls), hits / winners, 2 * hits / (hits + false_calls + winners)
from total where (select count(*) from chosen) > 0;
