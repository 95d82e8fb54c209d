-- Recompute the scores of a score card: what explanations/ says, and then the same numbers from sentences/ and the literals alone.
-- Replace runs/small by the folder of your run.
with term as (
  select layer, unit, pole, kind, items, weight from 'runs/small/explanation_terms/*.parquet' where model = 'winners'
), chosen as (
  select layer, unit, pole, average_precision, precision, recall, f1 from 'runs/small/explanations/*.parquet'
  where f1 is not null and (layer, unit, pole) in (select (layer, unit, pole) from term group by layer, unit, pole
    having bool_and(kind not in ('subtree', 'hub') and (kind <> 'value' or items[1] = 'dataset')))
  order by f1 desc, layer, unit, pole limit 1
), option as (select unnest(stages.mine.config) from 'runs/small/run.json'
), rule as (  -- a pattern as a regular expression over items with a space between them
  select kind, items, weight, if(kind = 'word', word_max_gap, tag_max_gap) as gap,
    ' ([^ ]+ )' || if(gap < 0, '*', '{0,' || gap || '}') as between,
    '(^| )' || list_reduce(list_transform(items, lambda item: regexp_escape(item)), lambda a, b: a || between || b)
      || '( |$)' as regex
  from term join chosen using (layer, unit, pole), option
), winner as (
  select sent_id from 'runs/small/topk/*.parquet' join chosen using (layer, unit, pole)
), sentence as (  -- words in lower case with their tags, and punctuation marks separately
  select sent_id, dataset, fold >= 5 as held_out, sent_id in (from winner) as won, len(words) as length,
    list_zip(list_transform(words, lambda word: lower(word)), tags) as pairs,
    list_filter(pairs, lambda pair: pair[2] in (',', ':', '.', '``', '''''', '-LRB-', '-RRB-', 'HYPH', 'NFP')) as marked,
    list_filter(pairs, lambda pair: not list_contains(marked, pair)) as kept,
    list_transform(marked, lambda pair: pair[1]) as marks,
    list_transform(kept, lambda pair: pair[1]) as kept_words, list_transform(kept, lambda pair: pair[2]) as kept_tags,
  from 'runs/small/sentences/*.parquet' where is_baseline or won
), scored as (
  select held_out, won, round(sum(weight * case kind
    when 'word' then regexp_matches(array_to_string(kept_words, ' '), regex)
    when 'tag' then regexp_matches(array_to_string(kept_tags, ' '), regex)
    when 'mark' then list_has_any(marks, items)
    when 'word_class' then list_has_any(kept_words, items)
    when 'length' then length <= items[1]::int
    else dataset = items[2] end::int), 6) as score
  from sentence, rule group by sent_id, held_out, won
), level as (  -- a winner counts 1, and the others represent the rest of the corpus
  select held_out, score, count(*) filter (won) as hits,
    hits + count(*) filter (not won) * (select (any_value(n) - (select count(*) from winner)) from 'runs/small/neurons/*.parquet')
      / (select count(*) from scored where not won) as counted
  from scored group by held_out, score
), cumulative as (
  select *, sum(hits) over called as found, sum(counted) over called as claimed, sum(hits) over half as winners
  from level window half as (partition by held_out), called as (partition by held_out order by score desc)
), threshold as (
  select score from cumulative where not held_out
  order by round(2 * found / (winners + claimed), 12) desc, score desc limit 1
), test as (
  select sum(hits * found / claimed) / any_value(winners) as average_precision,
    sum(hits) filter (score >= (from threshold)) as found, sum(counted) filter (score >= (from threshold)) as claimed,
    any_value(winners) as winners
  from cumulative where held_out
)
select 'the table' as source, average_precision, precision, recall, f1 from chosen
union all
select 'recomputed', average_precision, found / claimed, found / winners, 2 * found / (winners + claimed)
from test where (select count(*) from chosen) > 0;
